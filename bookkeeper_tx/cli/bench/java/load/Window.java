package load;

import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;

/** Keeps a number of operations in flight: where one ends, the next begins, on the thread that brings the end. */
final class Window {
    /** Begins the operation of an index; its end is reported to the window. */
    interface Operation {
        void begin(int index, Window window);
    }

    private static final int SAMPLE_EVERY = 16;
    private static final int MICROSECOND_NS = 1000;

    private final int count;
    private final int size;
    private final int sampleEvery;
    private final Operation operation;
    private final AtomicInteger begun = new AtomicInteger();
    private final AtomicInteger missing;
    private final CompletableFuture<Void> done = new CompletableFuture<>();
    private final long[] startedNs;
    private final long[] sampledUs;
    private final LongAccumulator slowestNs = new LongAccumulator(Long::max, 0);
    private final LongAdder bytes = new LongAdder();

    Window(int count, int size, Operation operation) {
        this.count = count;
        this.size = size;
        this.operation = operation;
        this.sampleEvery = Math.min(SAMPLE_EVERY, size);
        this.missing = new AtomicInteger(count);
        this.startedNs = new long[count];
        this.sampledUs = new long[(count + sampleEvery - 1) / sampleEvery];
    }

    /** Run all operations; the first that fails ends it. */
    Window run() throws Exception {
        for (int i = 0; i < Math.min(size, count); i++) {
            next();
        }
        if (count > 0) {
            done.get();
        }
        return this;
    }

    void ended(int index, long size) {
        long took = System.nanoTime() - startedNs[index];
        if (index % sampleEvery == 0) {
            sampledUs[index / sampleEvery] = took / MICROSECOND_NS;
        }
        if (took > slowestNs.get()) {
            slowestNs.accumulate(took);
        }
        bytes.add(size);
        if (missing.decrementAndGet() == 0) {
            done.complete(null);
        } else {
            next();
        }
    }

    void failed(Throwable error) {
        begun.set(count);
        done.completeExceptionally(error);
    }

    long bytes() {
        return bytes.sum();
    }

    String latencies() {
        String sampled = Arrays.stream(sampledUs).mapToObj(String::valueOf).collect(Collectors.joining(","));
        return " sampled_us=" + sampled + " slowest_us=" + slowestNs.get() / MICROSECOND_NS;
    }

    private void next() {
        int index = begun.getAndIncrement();
        if (index < count) {
            startedNs[index] = System.nanoTime();
            try {
                operation.begin(index, this);
            } catch (RuntimeException error) {
                failed(error);
            }
        }
    }
}
