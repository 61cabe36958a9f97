package tutti.minha.rewrite;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Renames types in a class file: wherever its constant pool has the name of one, by itself or in a descriptor or a
 * signature. Text constants keep what they say, also where the class file shares one entry for a text and a name. What lies
 * behind the constant pool refers to it by number and stays as it is (JVM specification, chapter 4.4).
 */
final class TypeRenamer {
    private static final int UTF8 = 1;
    private static final int INTEGER = 3;
    private static final int FLOAT = 4;
    private static final int LONG = 5;
    private static final int DOUBLE = 6;
    private static final int CLASS = 7;
    private static final int STRING = 8;
    private static final int METHOD_HANDLE = 15;
    private static final int METHOD_TYPE = 16;
    private static final int MODULE = 19;
    private static final int PACKAGE = 20;
    private static final int HEADER = 8;
    private static final int ENTRIES_MAX = 0xFFFF;
    private static final Pattern IN_DESCRIPTOR = Pattern.compile("L([a-zA-Z0-9_/$]+)(?=[;<.])");

    private TypeRenamer() {}

    private record Entry(int tag, byte[] bytes, String text) {}

    /** The class file with other names for some types, by their internal names. */
    static byte[] rename(byte[] classFile, Map<String, String> names) {
        try {
            return write(classFile, names);
        } catch (IOException e) {
            throw new UncheckedIOException("a class file ends in its constant pool", e);
        }
    }

    private static byte[] write(byte[] classFile, Map<String, String> names) throws IOException {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(classFile));
        byte[] header = in.readNBytes(HEADER);
        int count = in.readUnsignedShort();
        List<Entry> entries = new ArrayList<>();
        for (int i = 1; i < count; i++) {
            Entry entry = read(in);
            entries.add(entry);
            if (entry.tag == LONG || entry.tag == DOUBLE) {
                entries.add(new Entry(0, new byte[0], ""));
                i++;
            }
        }
        UnaryOperator<String> renamed = text -> rename(text, names);
        List<Entry> texts = new ArrayList<>();
        for (int i = 0; i < entries.size(); i++) {
            Entry entry = entries.get(i);
            if (entry.tag == STRING) {
                Entry text = entries.get((((entry.bytes[0] & 0xFF) << Byte.SIZE) | (entry.bytes[1] & 0xFF)) - 1);
                if (!renamed.apply(text.text).equals(text.text)) {
                    texts.add(text);
                    int index = entries.size() + texts.size();
                    entries.set(i, new Entry(STRING, new byte[]{(byte) (index >> Byte.SIZE), (byte) index}, ""));
                }
            }
        }
        if (entries.size() + texts.size() >= ENTRIES_MAX) {
            throw new IllegalArgumentException("the constant pool is full");
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(classFile.length + names.size());
        DataOutputStream out = new DataOutputStream(bytes);
        out.write(header);
        out.writeShort(entries.size() + texts.size() + 1);
        for (Entry entry : entries) {
            write(out, entry, entry.tag == UTF8 ? renamed.apply(entry.text) : "");
        }
        for (Entry text : texts) {
            write(out, text, text.text);
        }
        in.transferTo(out);
        return bytes.toByteArray();
    }

    private static Entry read(DataInputStream in) throws IOException {
        int tag = in.readUnsignedByte();
        return switch (tag) {
            case UTF8 -> new Entry(tag, new byte[0], in.readUTF());
            case INTEGER, FLOAT -> new Entry(tag, in.readNBytes(Integer.BYTES), "");
            case LONG, DOUBLE -> new Entry(tag, in.readNBytes(Long.BYTES), "");
            case CLASS, STRING, METHOD_TYPE, MODULE, PACKAGE -> new Entry(tag, in.readNBytes(Short.BYTES), "");
            case METHOD_HANDLE -> new Entry(tag, in.readNBytes(1 + Short.BYTES), "");
            default -> new Entry(tag, in.readNBytes(2 * Short.BYTES), "");
        };
    }

    private static void write(DataOutputStream out, Entry entry, String text) throws IOException {
        if (entry.tag == UTF8) {
            out.writeByte(UTF8);
            out.writeUTF(text);
        } else if (entry.tag != 0) {
            out.writeByte(entry.tag);
            out.write(entry.bytes);
        }
    }

    /** A name, a descriptor or a signature with other names for types. */
    static String rename(String text, Map<String, String> names) {
        String whole = names.get(text);
        if (whole != null) {
            return whole;
        }
        Matcher matcher = IN_DESCRIPTOR.matcher(text);
        if (!matcher.find()) {
            return text;
        }
        return matcher.replaceAll(found -> Matcher
                .quoteReplacement("L" + names.getOrDefault(found.group(1), found.group(1))));
    }
}
