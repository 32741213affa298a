package driver;

import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Drives the Java client for a test: a request a line on standard input, its reply a line on standard output.
 *
 * <p>Requests run at the same time, each on a thread of its own, and are answered as they end: one that never ends,
 * which some releases have, blocks no other. When standard input ends, so does the process, without closing a ledger.
 */
public final class Main {
    private Main() {
    }

    public static void main(String[] arguments) throws Exception {
        // In UTF-8 whatever the locale: a container has none.
        var output = new BufferedOutputStream(new FileOutputStream(FileDescriptor.out));
        PrintStream replies = new PrintStream(output, false, StandardCharsets.UTF_8);
        System.setOut(System.err); // whatever else prints must not end up between the replies
        Session session = new Session();
        ExecutorService threads = Executors.newCachedThreadPool();
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Request request = new Request(line);
            threads.execute(() -> answer(session, request, replies));
        }
        Runtime.getRuntime().halt(0);
    }

    private static void answer(Session session, Request request, PrintStream replies) {
        Reply reply;
        try {
            reply = session.run(request);
        } catch (Throwable thrown) { // an OutOfMemoryError is an answer too
            reply = Reply.error(thrown);
        }
        synchronized (replies) {
            replies.append(request.number).append('\t').append(reply.line()).append('\n').flush();
        }
    }
}
