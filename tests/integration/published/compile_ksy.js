// Compiles .ksy files to Python: node compile_ksy.js OUT_DIRECTORY FILE...
const fs = require("fs");
const path = require("path");
const yaml = require("js-yaml");
const compiler = require("kaitai-struct-compiler");

const [out, ...files] = process.argv.slice(2);

async function compileAll() {
  for (const file of files) {
    const made = await compiler.compile("python", yaml.load(fs.readFileSync(file, "utf8")), null, false);
    for (const name of Object.keys(made)) fs.writeFileSync(path.join(out, name), made[name]);
  }
}

compileAll().catch((error) => {
  console.error(String(error));
  process.exit(1);
});
