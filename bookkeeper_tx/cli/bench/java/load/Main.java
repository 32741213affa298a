package load;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * Makes load with Java's client: a request a line on standard input, its reply a line on standard output.
 *
 * <p>Arguments: the metadata service URI, and "v2" or "v3". When standard input ends, so does the process.
 */
public final class Main {
    private Main() {
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream replies = System.out;
        System.setOut(System.err); // whatever else prints must not end up between the replies
        BlockingQueue<String> lines = new LinkedBlockingQueue<>();
        Thread reader = new Thread(() -> read(lines), "requests");
        reader.setDaemon(true);
        reader.start();
        Load load = new Load(arguments[0], arguments[1].equals("v2"));
        while (true) {
            replies.append(answer(load, new Request(lines.take()))).append('\n').flush();
        }
    }

    private static void read(BlockingQueue<String> lines) {
        try {
            var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                lines.add(line);
            }
        } catch (IOException lost) {
            System.err.println(lost);
        }
        Runtime.getRuntime().halt(0); // even in the middle of a workload: whoever asked is gone
    }

    private static String answer(Load load, Request request) {
        try {
            return "ok" + load.run(request);
        } catch (Throwable thrown) { // an OutOfMemoryError is an answer too
            thrown.printStackTrace();
            return "error " + String.valueOf(thrown).replaceAll("\\s+", " ");
        }
    }
}
