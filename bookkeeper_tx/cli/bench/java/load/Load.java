package load;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.apache.bookkeeper.client.BKException;
import org.apache.bookkeeper.client.BookKeeper;
import org.apache.bookkeeper.client.LedgerHandle;
import org.apache.bookkeeper.client.api.DigestType;
import org.apache.bookkeeper.client.api.Handle;
import org.apache.bookkeeper.client.api.LedgerEntries;
import org.apache.bookkeeper.client.api.LedgerEntry;
import org.apache.bookkeeper.client.api.ReadHandle;
import org.apache.bookkeeper.conf.ClientConfiguration;

/** One client and its ledgers: the workloads of the bench, with the least that Java's client can be asked to do. */
final class Load {
    private static final byte[] PASSWORD = new byte[0];
    private static final int METADATA_REQUESTS_IN_FLIGHT = 16;
    private static final int RANGE_ENTRIES = 10_000;
    private static final long REPLY_BYTES_MAX = 5 * 1024 * 1024;

    private final BookKeeper client;
    private final Random random = new Random(4181);
    private byte[][] payloads = new byte[0][];
    private LedgerHandle[] writers = new LedgerHandle[0];
    private ReadHandle[] readers = new ReadHandle[0];
    private Window last = new Window(0, 1, null);

    Load(String metadataUri, boolean v2) throws Exception {
        ClientConfiguration configuration = new ClientConfiguration();
        configuration.setMetadataServiceUri(metadataUri);
        configuration.setUseV2WireProtocol(v2);
        configuration.setThrottleValue(0); // no ledger of a client does more than 5000 operations a second otherwise
        client = new BookKeeper(configuration);
    }

    /** The values of the reply, each after a blank. */
    String run(Request request) throws Exception {
        switch (request.verb) {
            case "ready": return ready(request.numbers("lengths"));
            case "create": return create(request);
            case "open": return open();
            case "close": return close();
            case "adds": return adds(request.number("entries"), request.number("window"));
            case "single_reads": return singleReads(request.number("entries"), request.number("window"));
            case "range_of_single_reads": return rangeReads(request.number("entries"));
            case "batch_reads":
                return batchReads(request.number("entries"), request.number("batch"), request.number("window"));
            case "latencies": return last.latencies();
            default: throw new IllegalArgumentException(request.verb);
        }
    }

    private String ready(int[] lengths) {
        payloads = new byte[lengths.length][];
        for (int i = 0; i < lengths.length; i++) {
            payloads[i] = new byte[lengths[i]];
            random.nextBytes(payloads[i]);
        }
        return "";
    }

    private String create(Request request) throws Exception {
        LedgerHandle[] created = new LedgerHandle[request.number("ledgers")];
        inTurn(created.length, index -> client.newCreateLedgerOp()
            .withEnsembleSize(request.number("ensemble"))
            .withWriteQuorumSize(request.number("write_quorum"))
            .withAckQuorumSize(request.number("ack_quorum"))
            .withDigestType(DigestType.CRC32C).withPassword(PASSWORD).execute()
            .thenAccept(handle -> created[index] = (LedgerHandle) handle));
        writers = created;
        return "";
    }

    private String open() throws Exception {
        long[] ids = new long[writers.length];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = writers[i].getId();
        }
        closeWriters();
        ReadHandle[] opened = new ReadHandle[ids.length];
        inTurn(ids.length, index -> client.newOpenLedgerOp()
            .withLedgerId(ids[index]).withRecovery(true)
            .withDigestType(DigestType.CRC32C).withPassword(PASSWORD).execute()
            .thenAccept(handle -> opened[index] = handle));
        readers = opened;
        return "";
    }

    private String close() throws Exception {
        closeWriters();
        inTurn(readers.length, index -> readers[index].closeAsync());
        readers = new ReadHandle[0];
        return "";
    }

    private void closeWriters() throws Exception {
        inTurn(writers.length, index -> ((Handle) writers[index]).closeAsync());
        writers = new LedgerHandle[0];
    }

    private String adds(int entries, int size) throws Exception {
        long before = written();
        last = new Window(entries, size, (index, window) ->
            writers[index % writers.length].asyncAddEntry(payloads[index % payloads.length], (code, ledger, entry, none) -> {
                if (code == BKException.Code.OK) {
                    window.ended(index, 0);
                } else {
                    window.failed(BKException.create(code));
                }
            }, null)).run();
        return worked(entries, written() - before);
    }

    private long written() {
        long bytes = 0;
        for (LedgerHandle writer : writers) {
            bytes += writer.getLength();
        }
        return bytes;
    }

    private String singleReads(int entries, int size) throws Exception {
        last = new Window(entries, size, (index, window) -> {
            long entry = index / readers.length;
            took(readers[index % readers.length].readAsync(entry, entry), index, window);
        }).run();
        return worked(entries, last.bytes());
    }

    private String rangeReads(int entries) throws Exception {
        List<Piece> pieces = pieces(entries, RANGE_ENTRIES);
        last = new Window(pieces.size(), 1, (index, window) -> {
            Piece piece = pieces.get(index);
            took(piece.reader.readAsync(piece.first, piece.end - 1), index, window);
        }).run();
        return worked(entries, last.bytes());
    }

    private String batchReads(int entries, int batch, int size) throws Exception {
        List<Piece> pieces = pieces(entries, batch);
        last = new Window(pieces.size(), size, (index, window) -> batchRead(pieces.get(index), 0, index, window)).run();
        return worked(entries, last.bytes());
    }

    /** Short replies read on. */
    private static void batchRead(Piece piece, long before, int index, Window window) {
        piece.reader.batchReadAsync(piece.first, (int) (piece.end - piece.first), REPLY_BYTES_MAX)
            .whenComplete((entries, error) -> {
                if (error != null) {
                    window.failed(error);
                    return;
                }
                long bytes = before;
                long next = piece.first;
                try (entries) {
                    for (LedgerEntry entry : entries) {
                        bytes += entry.getEntryBuffer().readableBytes();
                        next++;
                    }
                }
                if (next < piece.end) {
                    batchRead(new Piece(piece.reader, next, piece.end), bytes, index, window);
                } else {
                    window.ended(index, bytes);
                }
            });
    }

    private static void took(CompletableFuture<LedgerEntries> reading, int index, Window window) {
        reading.whenComplete((entries, error) -> {
            if (error != null) {
                window.failed(error);
                return;
            }
            long bytes = 0;
            try (entries) {
                for (LedgerEntry entry : entries) {
                    bytes += entry.getEntryBuffer().readableBytes();
                }
            }
            window.ended(index, bytes);
        });
    }

    /** The entries that adds have spread over the ledgers, in pieces, in turns. */
    private List<Piece> pieces(int entries, int size) {
        List<Piece> pieces = new ArrayList<>();
        int longest = (entries + readers.length - 1) / readers.length;
        for (int first = 0; first < longest; first += size) {
            for (int i = 0; i < readers.length; i++) {
                int end = (entries + readers.length - 1 - i) / readers.length;
                if (first < end) {
                    pieces.add(new Piece(readers[i], first, Math.min(end, first + size)));
                }
            }
        }
        return pieces;
    }

    private interface Asked {
        CompletableFuture<?> of(int index);
    }

    private static void inTurn(int count, Asked asked) throws Exception {
        new Window(count, METADATA_REQUESTS_IN_FLIGHT, (index, window) -> asked.of(index).whenComplete((none, error) -> {
            if (error == null) {
                window.ended(index, 0);
            } else {
                window.failed(error);
            }
        })).run();
    }

    private static String worked(int entries, long bytes) {
        return " entries=" + entries + " bytes=" + bytes;
    }

    private static final class Piece {
        final ReadHandle reader;
        final long first;
        final long end;

        Piece(ReadHandle reader, long first, long end) {
            this.reader = reader;
            this.first = first;
            this.end = end;
        }
    }
}
