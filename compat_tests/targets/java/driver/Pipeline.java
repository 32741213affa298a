package driver;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.apache.bookkeeper.client.BKException;
import org.apache.bookkeeper.client.LedgerHandle;

/** Adds that are sent one behind the other without waiting, and what became of each, in which order. */
final class Pipeline {
    private final LedgerHandle handle;
    private final String[] bodies;
    private final long[] codes;
    private final long[] entries;
    private final List<Integer> order = new ArrayList<>();
    private final CountDownLatch pending;

    Pipeline(LedgerHandle handle, String bodies) {
        this.handle = handle;
        this.bodies = bodies.split(",", -1);
        this.codes = new long[this.bodies.length];
        this.entries = new long[this.bodies.length];
        this.pending = new CountDownLatch(this.bodies.length);
    }

    Reply run() throws Exception {
        for (int i = 0; i < bodies.length; i++) {
            handle.asyncAddEntry(Hex.decode(bodies[i]), this::added, i);
        }
        pending.await();
        synchronized (this) {
            return Reply.ok().with("codes", joined(codes)).with("entries", joined(entries))
                .with("order", order.stream().map(String::valueOf).collect(Collectors.joining(",")));
        }
    }

    private synchronized void added(int code, LedgerHandle ledger, long entry, Object index) {
        int at = (Integer) index;
        codes[at] = code;
        entries[at] = code == BKException.Code.OK ? entry : -1;
        order.add(at);
        pending.countDown();
    }

    private static String joined(long[] values) {
        return LongStream.of(values).mapToObj(String::valueOf).collect(Collectors.joining(","));
    }
}
