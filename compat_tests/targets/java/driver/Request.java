package driver;

import java.util.HashMap;
import java.util.Map;

/** One line from the test: a number, a verb and named values, separated by tabs. */
final class Request {
    final String number;
    final String verb;
    private final Map<String, String> values = new HashMap<>();

    Request(String line) {
        String[] parts = line.split("\t");
        number = parts[0];
        verb = parts[1];
        for (int i = 2; i < parts.length; i++) {
            int equals = parts[i].indexOf('=');
            values.put(parts[i].substring(0, equals), parts[i].substring(equals + 1));
        }
    }

    boolean has(String name) {
        return values.containsKey(name);
    }

    String text(String name) {
        String value = values.get(name);
        if (value == null) {
            throw new IllegalArgumentException(verb + " needs " + name);
        }
        return value;
    }

    int small(String name) {
        return Integer.parseInt(text(name));
    }

    long number(String name) {
        return Long.parseLong(text(name));
    }

    boolean flag(String name) {
        return Boolean.parseBoolean(values.get(name));
    }

    byte[] bytes(String name) {
        return Hex.decode(text(name));
    }

    /** The values whose names start with a prefix, under the rest of their names. */
    Map<String, String> under(String prefix) {
        Map<String, String> found = new HashMap<>();
        values.forEach((name, value) -> {
            if (name.startsWith(prefix)) {
                found.put(name.substring(prefix.length()), value);
            }
        });
        return found;
    }
}
