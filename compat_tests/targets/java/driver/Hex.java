package driver;

/** Bytes as text: the class libraries of Java 11 have nothing for it. */
final class Hex {
    private static final char[] DIGITS = "0123456789abcdef".toCharArray();

    private Hex() {
    }

    static String encode(byte[] bytes) {
        char[] text = new char[2 * bytes.length];
        for (int i = 0; i < bytes.length; i++) {
            text[2 * i] = DIGITS[(bytes[i] >> 4) & 15];
            text[2 * i + 1] = DIGITS[bytes[i] & 15];
        }
        return new String(text);
    }

    static byte[] decode(String text) {
        byte[] bytes = new byte[text.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (Character.digit(text.charAt(2 * i), 16) << 4 | Character.digit(text.charAt(2 * i + 1), 16));
        }
        return bytes;
    }
}
