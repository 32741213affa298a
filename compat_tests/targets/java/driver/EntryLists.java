package driver;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.apache.bookkeeper.client.BookKeeper;
import org.apache.bookkeeper.client.BookKeeperAdmin;

/**
 * Java's own list of entries, many lists a request: several values are separated by ";", the ids of each by ",".
 *
 * <p>By reflection: 4.9 has no such class.
 */
final class EntryLists {
    private static final String CLASS = "org.apache.bookkeeper.util.AvailabilityOfEntriesOfLedger";

    private EntryLists() {
    }

    /** The bytes that Java makes of each set of ids in "sets". */
    static Reply encode(Request request) throws Exception {
        List<String> lists = new ArrayList<>();
        for (String ids : each(request, "sets")) {
            lists.add(bytes(Class.forName(CLASS).getConstructor(long[].class).newInstance((Object) numbers(ids))));
        }
        return Reply.ok().with("lists", String.join(";", lists));
    }

    /**
     * What Java finds in each of "lists": its count; which of "probed" it holds; which of "expected" it misses.
     *
     * <p>Only these are asked for, so that sparse sets far apart can be looked into.
     */
    static Reply decode(Request request) throws Exception {
        String[] probed = each(request, "probed");
        String[] expected = each(request, "expected");
        List<String> counts = new ArrayList<>();
        List<String> found = new ArrayList<>();
        List<String> missing = new ArrayList<>();
        int index = 0;
        for (String hex : each(request, "lists")) {
            Object list = Class.forName(CLASS).getConstructor(byte[].class).newInstance((Object) Hex.decode(hex));
            counts.add(String.valueOf(call(list, "getTotalNumOfAvailableEntries")));
            List<String> held = new ArrayList<>();
            for (long id : numbers(probed[index])) {
                if ((Boolean) list.getClass().getMethod("isEntryAvailable", long.class).invoke(list, id)) {
                    held.add(String.valueOf(id));
                }
            }
            found.add(String.join(",", held));
            missing.add(missing(list, numbers(expected[index])));
            index++;
        }
        return Reply.ok().with("counts", String.join(";", counts)).with("found", String.join(";", found))
            .with("missing", String.join(";", missing));
    }

    private static String missing(Object list, long[] expected) throws Exception {
        if (expected.length == 0) {
            return "";
        }
        long first = expected[0];
        BitSet wanted = new BitSet();
        LongStream.of(expected).forEach(id -> wanted.set((int) (id - first)));
        List<?> ids = (List<?>) list.getClass()
            .getMethod("getUnavailableEntries", long.class, long.class, BitSet.class)
            .invoke(list, first, expected[expected.length - 1], wanted);
        return ids.stream().map(String::valueOf).collect(Collectors.joining(","));
    }

    /** Ask the bookie "bookie" which entries of "ledger" it has; the list as it is, as far as Java gives it back. */
    static Reply ask(BookKeeper client, Request request) throws Exception {
        Object address;
        try {
            address = Class.forName("org.apache.bookkeeper.net.BookieId")
                .getMethod("parse", String.class).invoke(null, request.text("bookie"));
        } catch (ClassNotFoundException absent) {
            throw new Unsupported("this release asks for no list of entries");
        }
        try (BookKeeperAdmin admin = new BookKeeperAdmin(client)) {
            Object list = ((CompletableFuture<?>) BookKeeperAdmin.class
                .getMethod("asyncGetListOfEntriesOfLedger", address.getClass(), long.class)
                .invoke(admin, address, request.number("ledger"))).get();
            return Reply.ok().with("list", bytes(list)).with("count", call(list, "getTotalNumOfAvailableEntries"));
        }
    }

    private static String bytes(Object list) throws Exception {
        return Hex.encode((byte[]) call(list, "serializeStateOfEntriesOfLedger"));
    }

    private static Object call(Object list, String method) throws Exception {
        return list.getClass().getMethod(method).invoke(list);
    }

    /** An empty set in the middle is an empty string, so none may be dropped at the end. */
    private static String[] each(Request request, String name) {
        return request.text(name).split(";", -1);
    }

    private static long[] numbers(String ids) {
        return ids.isEmpty() ? new long[0] : Stream.of(ids.split(",")).mapToLong(Long::parseLong).toArray();
    }
}
