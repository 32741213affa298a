package driver;

import java.nio.ByteBuffer;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import org.apache.bookkeeper.client.BKException;
import org.apache.bookkeeper.client.LedgerHandle;

/** Many adds with a bound on those in flight; what became of each is counted. */
final class Appends {
    private final LedgerHandle handle;
    private final int count;
    private final Semaphore room;
    private final int roomSize;
    private final CountDownLatch pending;
    private long first = -1;
    private long last = -1;
    private int acknowledged;
    private int firstError = BKException.Code.OK;

    Appends(LedgerHandle handle, int count, int outstanding) {
        this.handle = handle;
        this.count = count;
        this.roomSize = outstanding;
        this.room = new Semaphore(outstanding);
        this.pending = new CountDownLatch(count);
    }

    /** Entry bodies that the test can compute as well: index and seed, over and over. */
    static byte[] pattern(long index, int size, int seed) {
        byte[] unit = ByteBuffer.allocate(12).putLong(index).putInt(seed).array();
        byte[] body = new byte[size];
        for (int i = 0; i < size; i++) {
            body[i] = unit[i % unit.length];
        }
        return body;
    }

    Reply run(long index, int size, int seed) throws Exception {
        for (int i = 0; i < count; i++) {
            room.acquire();
            if (failed()) { // a closed handle refuses every further one with a line in the log
                pending.countDown();
                room.release();
                continue;
            }
            handle.asyncAddEntry(pattern(index + i, size, seed), this::added, null);
        }
        pending.await();
        room.acquire(roomSize);
        Reply reply = firstError == BKException.Code.OK ? Reply.ok() : Reply.error(BKException.create(firstError));
        return reply.with("first", first).with("last", last).with("acknowledged", acknowledged);
    }

    private synchronized boolean failed() {
        return firstError != BKException.Code.OK;
    }

    private synchronized void added(int code, LedgerHandle ledger, long entry, Object context) {
        if (code == BKException.Code.OK) {
            acknowledged++;
            first = first < 0 ? entry : Math.min(first, entry);
            last = Math.max(last, entry);
        } else if (firstError == BKException.Code.OK) {
            firstError = code;
        }
        pending.countDown();
        room.release();
    }
}
