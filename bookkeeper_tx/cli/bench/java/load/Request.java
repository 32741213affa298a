package load;

import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;

/** A verb and its values: {@code verb name=value name=value}. */
final class Request {
    final String verb;
    private final Map<String, String> values = new HashMap<>();

    Request(String line) {
        String[] parts = line.trim().split(" ");
        verb = parts[0];
        for (int i = 1; i < parts.length; i++) {
            String[] pair = parts[i].split("=", 2);
            values.put(pair[0], pair[1]);
        }
    }

    int number(String name) {
        return Integer.parseInt(values.get(name));
    }

    int[] numbers(String name) {
        return Stream.of(values.get(name).split(",")).mapToInt(Integer::parseInt).toArray();
    }
}
