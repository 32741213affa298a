// Filters and folds; without it the page has all that it has with it.
for (const form of document.querySelectorAll("form.filters")) {
  const role = document.getElementById(form.dataset.role);
  const grid = role.querySelector(".cases");
  const count = grid.style.getPropertyValue("--targets");
  const cases = [...grid.querySelectorAll(".case")].map(row => ({
    row, area: row.parentElement.dataset.area, text: row.textContent.toLowerCase(),
    cells: [...row.querySelectorAll("summary > .cell")],
  }));
  const wanted = (cells, verdict) => !verdict || cells.some(cell => {
    const verdicts = cell.dataset.v.split(" ").filter(Boolean);
    return verdict === "!" ? verdicts.some(each => each !== "pass") : verdicts.includes(verdict);
  });
  const apply = () => {
    const { area, target, verdict, text } = Object.fromEntries(new FormData(form));
    let shown = 0;
    for (const each of cases) {
      const cells = target ? each.cells.filter(cell => cell.dataset.t === target) : each.cells;
      const visible = (!area || each.area === area) && wanted(cells, verdict) && each.text.includes(text.toLowerCase());
      each.row.hidden = !visible;
      shown += visible;
    }
    for (const section of grid.querySelectorAll(".area"))
      section.hidden = !section.querySelector(".case:not([hidden])");
    for (const cell of grid.querySelectorAll("[data-t]")) cell.hidden = Boolean(target) && cell.dataset.t !== target;
    grid.style.setProperty("--targets", target ? 1 : count);
    form.querySelector("output").textContent = `${shown} of ${cases.length} cases`;
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", event => event.preventDefault());
  for (const [name, open] of [["open", true], ["close", false]])
    form.elements[name].addEventListener("click", () => {
      for (const each of cases) if (!each.row.hidden) each.row.open = open;
    });
  form.hidden = false;
  apply();
}
const follow = () => {
  const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!row || !row.matches(".case")) return;
  if (row.hidden) {
    const form = row.closest(".role").querySelector("form.filters");
    form.reset();
    form.dispatchEvent(new Event("input"));
  }
  row.open = true;
  row.scrollIntoView();
};
addEventListener("hashchange", follow);
follow();
