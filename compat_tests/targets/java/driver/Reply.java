package driver;

import java.lang.reflect.InvocationTargetException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.apache.bookkeeper.client.api.BKException;

/** One line to the test: the request's number, "ok" or "error", and named values. */
final class Reply {
    private final StringBuilder line = new StringBuilder();

    private Reply(String outcome) {
        line.append(outcome);
    }

    static Reply ok() {
        return new Reply("ok");
    }

    /** An error with BookKeeper's client code, or "-" where the exception has none. */
    static Reply error(Throwable thrown) {
        Throwable cause = thrown;
        while (cause.getCause() != null && (cause instanceof ExecutionException
                || cause instanceof CompletionException || cause instanceof InvocationTargetException)) {
            cause = cause.getCause();
        }
        Object code = cause instanceof BKException ? ((BKException) cause).getCode() : "-";
        return new Reply("error")
            .with("code", code)
            .with("name", cause.getClass().getSimpleName())
            .with("message", String.valueOf(cause.getMessage()));
    }

    Reply with(String name, Object value) {
        String text = String.valueOf(value).replace('\t', ' ').replace('\n', ' ').replace('\r', ' ');
        line.append('\t').append(name).append('=').append(text);
        return this;
    }

    String line() {
        return line.toString();
    }
}
