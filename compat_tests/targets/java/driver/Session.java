package driver;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.apache.bookkeeper.client.BookKeeper;
import org.apache.bookkeeper.client.BookKeeperAdmin;
import org.apache.bookkeeper.client.BookieInfoReader.BookieInfo;
import org.apache.bookkeeper.client.LedgerHandle;
import org.apache.bookkeeper.client.api.CreateBuilder;
import org.apache.bookkeeper.client.api.DigestType;
import org.apache.bookkeeper.client.api.LedgerMetadata;
import org.apache.bookkeeper.client.api.WriteFlag;
import org.slf4j.MDC;

/** Clients and their open ledgers; a method of the same name for each verb. */
final class Session {
    private final Map<Integer, LedgerHandle> handles = new ConcurrentHashMap<>();
    private final AtomicInteger lastHandle = new AtomicInteger();
    private final Map<String, BookKeeper> clients = new ConcurrentHashMap<>();
    private final Map<String, Boolean> speaksV2 = new ConcurrentHashMap<>();

    /** With values under "mdc." in the logging context, which some clients send along as the request context. */
    Reply run(Request request) throws Exception {
        Map<String, String> context = request.under("mdc.");
        context.forEach(MDC::put);
        try {
            return answer(request);
        } finally {
            context.keySet().forEach(MDC::remove);
        }
    }

    private Reply answer(Request request) throws Exception {
        switch (request.verb) {
            case "connect": return connect(request);
            case "disconnect": clients.remove(name(request)).close(); return Reply.ok();
            case "create": return create(request);
            case "open": return open(request);
            case "delete": client(request).deleteLedger(request.number("ledger")); return Reply.ok();
            case "ledgers": return ledgers(client(request));
            case "bookies": return bookies(client(request));
            case "metadata": return metadata(request);
            case "append": return append(request);
            case "append_pattern":
                return new Appends(handle(request), request.small("count"), request.small("outstanding"))
                    .run(request.number("index"), request.small("size"), request.small("seed"));
            case "append_many": return new Pipeline(handle(request), request.text("bodies")).run();
            case "read": return Reads.range(handle(request), request);
            case "batch_read": return batch(request);
            case "last_add_confirmed": return Reply.ok().with("entry", lastAddConfirmed(request));
            case "await_entry": return awaitEntry(request);
            case "force": handle(request).force().get(); return Reply.ok();
            case "encode_entry_lists": return EntryLists.encode(request);
            case "decode_entry_lists": return EntryLists.decode(request);
            case "list_entries": return EntryLists.ask(client(request), request);
            case "length": return Reply.ok().with("length", handle(request).getLength());
            case "close": handle(request).close(); return Reply.ok();
            default: throw new Unsupported("there is no " + request.verb + " here");
        }
    }

    private Reply batch(Request request) throws Exception {
        if (!speaksV2.get(name(request))) {
            throw new Unsupported("Java's client has batch read over V2 only: over V3 it would never answer");
        }
        return Reads.batch(handle(request), request);
    }

    private Reply connect(Request request) throws Exception {
        speaksV2.put(name(request), request.flag("v2"));
        clients.put(name(request), new BookKeeper(Settings.of(request)));
        return Reply.ok();
    }

    /** Which of several clients a request is for. */
    private static String name(Request request) {
        return request.has("client") ? request.text("client") : "";
    }

    private BookKeeper client(Request request) {
        return clients.get(name(request));
    }

    private Reply create(Request request) throws Exception {
        Map<String, byte[]> custom = new HashMap<>();
        request.under("custom.").forEach((name, value) -> custom.put(name, Hex.decode(value)));
        CreateBuilder builder = client(request).newCreateLedgerOp()
            .withEnsembleSize(request.small("ensemble"))
            .withWriteQuorumSize(request.small("write"))
            .withAckQuorumSize(request.small("ack"))
            .withDigestType(DigestType.valueOf(request.text("digest")))
            .withPassword(request.bytes("password"))
            .withCustomMetadata(custom);
        if (request.flag("deferred_sync")) {
            builder = builder.withWriteFlags(EnumSet.of(WriteFlag.DEFERRED_SYNC));
        }
        if (request.has("ledger")) {
            return opened((LedgerHandle) builder.makeAdv().withLedgerId(request.number("ledger")).execute().get());
        }
        return opened((LedgerHandle) (request.flag("explicit_ids")
            ? builder.makeAdv().execute().get() : builder.execute().get()));
    }

    private Reply open(Request request) throws Exception {
        return opened((LedgerHandle) client(request).newOpenLedgerOp()
            .withLedgerId(request.number("ledger"))
            .withDigestType(DigestType.valueOf(request.text("digest")))
            .withPassword(request.bytes("password"))
            .withRecovery(request.flag("recovery"))
            .execute().get());
    }

    private Reply opened(LedgerHandle ledger) {
        int number = lastHandle.incrementAndGet();
        handles.put(number, ledger);
        return Reply.ok().with("handle", number).with("ledger", ledger.getId())
            .with("last_add_confirmed", ledger.getLastAddConfirmed());
    }

    private LedgerHandle handle(Request request) {
        return handles.get(request.small("handle"));
    }

    private Reply append(Request request) throws Exception {
        LedgerHandle ledger = handle(request);
        byte[] body = request.bytes("body");
        long entry = request.has("entry") ? ledger.addEntry(request.number("entry"), body) : ledger.addEntry(body);
        return Reply.ok().with("entry", entry);
    }

    private long lastAddConfirmed(Request request) throws Exception {
        LedgerHandle ledger = handle(request);
        switch (request.text("from")) {
            case "handle": return ledger.getLastAddConfirmed();
            case "quorum": return ledger.readLastConfirmed();
            case "any": return ledger.tryReadLastConfirmed();
            case "explicit": return ledger.readExplicitLastConfirmed();
            default: throw new IllegalArgumentException(request.text("from"));
        }
    }

    private Reply awaitEntry(Request request) throws Exception {
        var found = handle(request)
            .readLastAddConfirmedAndEntryAsync(request.number("entry"), request.number("timeout_ms"), false).get();
        Reply reply = Reply.ok().with("last_add_confirmed", found.getLastAddConfirmed()).with("found", found.hasEntry());
        return found.hasEntry() ? reply.with("body", Hex.encode(found.getEntry().getEntryBytes())) : reply;
    }

    private static Reply ledgers(BookKeeper client) throws Exception {
        List<String> ids = new ArrayList<>();
        try (BookKeeperAdmin admin = new BookKeeperAdmin(client)) {
            admin.listLedgers().forEach(id -> ids.add(String.valueOf(id)));
        }
        return Reply.ok().with("ledgers", String.join(",", ids));
    }

    private static Reply bookies(BookKeeper client) throws Exception {
        Reply reply = Reply.ok();
        for (Map.Entry<?, BookieInfo> each : client.getBookieInfo().entrySet()) {
            BookieInfo info = each.getValue();
            reply.with(String.valueOf(each.getKey()), info.getFreeDiskSpace() + "," + info.getTotalDiskSpace());
        }
        return reply;
    }

    /** The metadata of an open ledger, or of any ledger without its password, as an administrator. */
    private Reply metadata(Request request) throws Exception {
        if (request.has("handle")) {
            return described(handle(request).getLedgerMetadata());
        }
        try (BookKeeperAdmin admin = new BookKeeperAdmin(client(request))) {
            return described(admin.openLedgerNoRecovery(request.number("ledger")).getLedgerMetadata());
        }
    }

    private static Reply described(LedgerMetadata metadata) {
        Reply reply = Reply.ok()
            .with("format_version", metadata.getMetadataFormatVersion())
            .with("ensemble", metadata.getEnsembleSize())
            .with("write", metadata.getWriteQuorumSize())
            .with("ack", metadata.getAckQuorumSize())
            .with("state", metadata.getState())
            .with("last_entry", metadata.getLastEntryId())
            .with("length", metadata.getLength())
            .with("digest", metadata.getDigestType())
            .with("ctime_ms", metadata.getCtime())
            .with("fragments", metadata.getAllEnsembles().entrySet().stream()
                .map(each -> each.getKey() + ":" + each.getValue().stream().map(String::valueOf)
                    .collect(Collectors.joining(","))).collect(Collectors.joining(";")));
        metadata.getCustomMetadata().forEach((name, value) -> reply.with("custom." + name, Hex.encode(value)));
        return reply;
    }
}
