package tutti.minha;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;

/** Bytes in, lines of UTF-8 out; what is left without an end of line comes when it is flushed by {@link #close}. */
final class LineStream extends OutputStream {
    private final ByteArrayOutputStream line = new ByteArrayOutputStream();
    private final Consumer<String> to;

    LineStream(Consumer<String> to) {
        this.to = to;
    }

    @Override
    public void write(int b) {
        if (b == '\n') {
            emit();
        } else if (b != '\r') {
            line.write(b);
        }
    }

    @Override
    public void write(byte[] bytes, int offset, int length) {
        for (int i = offset; i < offset + length; i++) {
            write(bytes[i]);
        }
    }

    private void emit() {
        String text = line.toString(StandardCharsets.UTF_8);
        line.reset();
        to.accept(text);
    }

    @Override
    public void close() {
        if (line.size() > 0) {
            emit();
        }
    }
}
