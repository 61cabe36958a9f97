package tutti.macro;

import java.util.concurrent.CompletableFuture;

/** What tests put behind a component. Methods named get... read. */
public interface Counter {
    long add(long amount);

    long get();

    int getPrimitives(byte b, short s, char c, boolean z, float f, double d, long l, int i);

    void fail(String message) throws CounterException;

    default long addTwice(long amount) {
        add(amount);
        return add(amount);
    }

    /** The same, for asynchronous calls. */
    interface Async {
        CompletableFuture<Long> add(long amount);

        CompletableFuture<Long> get();

        CompletableFuture<Void> fail(String message);
    }

    /** A checked one. */
    final class CounterException extends Exception {
        private static final long serialVersionUID = 1;

        CounterException(String message) {
            super(message);
        }
    }

    /** Not thread safe, and notices when it is used as if it were. */
    class Plain implements Counter {
        long value;
        private int users;

        @Override
        public long add(long amount) {
            if (++users != 1) {
                throw new AssertionError("two at a time");
            }
            value += amount;
            users--;
            return value;
        }

        @Override
        public long get() {
            if (users != 0) {
                throw new AssertionError("read while written");
            }
            return value;
        }

        @Override
        public int getPrimitives(byte b, short s, char c, boolean z, float f, double d, long l, int i) {
            return (int) (b + s + c + (z ? 1 : 0) + f + d + l + i + value);
        }

        @Override
        public void fail(String message) throws CounterException {
            throw new CounterException(message);
        }
    }
}
