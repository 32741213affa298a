package driver;

import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.util.Enumeration;
import org.apache.bookkeeper.client.LedgerEntry;
import org.apache.bookkeeper.client.LedgerHandle;

/** The ways to read a range, and how its entries are reported: as they are, or as one hash. */
final class Reads {
    private Reads() {
    }

    static Reply range(LedgerHandle handle, Request request) throws Exception {
        long first = request.number("first");
        long last = request.number("last");
        Enumeration<LedgerEntry> entries = request.flag("unconfirmed")
            ? handle.readUnconfirmedEntries(first, last) : handle.readEntries(first, last);
        return report(entries, request);
    }

    /** By reflection: releases before 4.17 have no batch read. */
    @SuppressWarnings("unchecked")
    static Reply batch(LedgerHandle handle, Request request) throws Exception {
        String name = request.flag("unconfirmed") ? "batchReadUnconfirmedEntries" : "batchReadEntries";
        Method method;
        try {
            method = LedgerHandle.class.getMethod(name, long.class, int.class, long.class);
        } catch (NoSuchMethodException absent) {
            throw new Unsupported("this release has no " + name);
        }
        Object entries = method.invoke(handle, request.number("start"), request.small("count"), request.number("size"));
        return report((Enumeration<LedgerEntry>) entries, request);
    }

    private static Reply report(Enumeration<LedgerEntry> entries, Request request) throws Exception {
        boolean hashed = request.flag("hashed");
        MessageDigest hash = MessageDigest.getInstance("SHA-256");
        StringBuilder bodies = new StringBuilder();
        StringBuilder ids = new StringBuilder();
        int count = 0;
        long length = 0;
        while (entries.hasMoreElements()) {
            LedgerEntry entry = entries.nextElement();
            byte[] body = entry.getEntry();
            String comma = count == 0 ? "" : ",";
            if (hashed) {
                hash.update(ByteBuffer.allocate(4).putInt(body.length).array());
                hash.update(body);
            } else {
                bodies.append(comma).append(Hex.encode(body));
                ids.append(comma).append(entry.getEntryId());
            }
            length = entry.getLength();
            count++;
        }
        Reply reply = Reply.ok().with("count", count).with("length", length);
        return hashed ? reply.with("sha256", Hex.encode(hash.digest())) : reply.with("ids", ids).with("bodies", bodies);
    }
}
