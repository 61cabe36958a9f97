package tutti.macro.distribution;

import java.util.ConcurrentModificationException;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tutti.macro.call.Operation;

/** How macro-operations and responses travel. Immutable. */
final class OperationCodec {
    private static final byte CALL = 0;
    private static final byte OWN = 1;
    private static final byte COMMIT = 2;

    private static final byte EMPTY = 0;
    private static final byte VALUE = 1;
    private static final byte EXCEPTION = 2;
    private static final byte OWN_EXCEPTION = 3;

    /** Exceptions that interfaces of the JDK throw, and how each is made again. */
    private static final Map<String, Function<@Nullable String, Throwable>> EXCEPTIONS = Map.ofEntries(
            known(IllegalArgumentException.class, IllegalArgumentException::new),
            known(IllegalStateException.class, IllegalStateException::new),
            known(NullPointerException.class, NullPointerException::new),
            known(ClassCastException.class, ClassCastException::new),
            known(ArithmeticException.class, ArithmeticException::new),
            known(NumberFormatException.class, NumberFormatException::new),
            known(IndexOutOfBoundsException.class, IndexOutOfBoundsException::new),
            known(UnsupportedOperationException.class, UnsupportedOperationException::new),
            known(NoSuchElementException.class, NoSuchElementException::new),
            known(ConcurrentModificationException.class, ConcurrentModificationException::new),
            known(TransactionConflictException.class, m -> new TransactionConflictException(String.valueOf(m))),
            known(EncodingException.class, m -> new EncodingException(String.valueOf(m))));

    private static Map.Entry<String, Function<@Nullable String, Throwable>> known(Class<? extends Throwable> type,
            Function<@Nullable String, Throwable> make) {
        return Map.entry(type.getName(), make);
    }

    /** A macro-operation and the component that it is for. */
    record Addressed(HostedComponent.Component<?> component, MacroOperation<?> operation) {}

    private final ObjectCodec values;
    private final Function<String, HostedComponent.@Nullable Component<?>> components;

    /** @param components finds one by its id, null if there is none */
    OperationCodec(ObjectCodec values, Function<String, HostedComponent.@Nullable Component<?>> components) {
        this.values = values;
        this.components = components;
    }

    byte[] encode(String component, MacroOperation<?> operation) {
        Output to = new Output();
        to.writeString(component);
        if (operation instanceof MethodCall call) {
            HostedComponent.Component<?> of = require(component);
            to.writeByte(CALL);
            to.writeSigned(of.calls().table().fingerprint());
            to.writeUnsigned(call.operation().index());
            for (Object argument : call.arguments()) {
                values.write(argument, to);
            }
        } else if (operation instanceof CommitOperation commit) {
            to.writeByte(COMMIT);
            commit.write(to);
        } else {
            to.writeByte(OWN);
            values.write(operation, to);
        }
        return to.toBytes();
    }

    HostedComponent.Component<?> require(String id) {
        HostedComponent.Component<?> component = components.apply(id);
        if (component == null) {
            throw new EncodingException("this node has no component " + id);
        }
        return component;
    }

    Addressed decode(byte[] bytes) {
        try {
            Input from = new Input(bytes);
            HostedComponent.Component<?> component = require(from.readString());
            byte kind = from.readByte();
            if (kind == COMMIT) {
                return new Addressed(component, CommitOperation.read(from));
            }
            if (kind == OWN) {
                if (values.read(from) instanceof MacroOperation<?> operation) {
                    return new Addressed(component, operation);
                }
                throw new EncodingException("what was sent to component " + component.id() + " is no macro-operation");
            }
            var table = component.calls().table();
            if (from.readSigned() != table.fingerprint()) {
                throw new EncodingException("the sender has another version of " + table.type().getName()
                        + ", or classifies its methods otherwise, than this node");
            }
            int index = (int) from.readUnsigned();
            if (index < 0 || index >= table.operations().size()) {
                throw new EncodingException(table.type().getName() + " has no operation " + index);
            }
            Operation operation = table.operations().get(index);
            @Nullable
            Object[] arguments = new Object[operation.method().getParameterCount()];
            for (int i = 0; i < arguments.length; i++) {
                arguments[i] = values.read(from);
            }
            return new Addressed(component, new MethodCall(operation, component.calls().invoker(), arguments));
        } catch (EncodingException e) {
            throw e;
        } catch (RuntimeException e) {
            // Bytes that make no date, no number and so on.
            throw new EncodingException("a macro-operation cannot be read", e);
        }
    }

    void write(Response response, Output to) {
        switch (response) {
            case Response.Empty() -> to.writeByte(EMPTY);
            case Response.Value(Object value) -> {
                to.writeByte(VALUE);
                values.write(value, to);
            }
            case Response.ExceptionResponse(Throwable thrown) -> {
                if (values.knows(thrown.getClass())) {
                    to.writeByte(OWN_EXCEPTION);
                    values.write(thrown, to);
                } else {
                    to.writeByte(EXCEPTION);
                    to.writeString(thrown.getClass().getName());
                    to.writeString(String.valueOf(thrown.getMessage()));
                }
            }
        }
    }

    Response readResponse(Input from) {
        return switch (from.readByte()) {
            case EMPTY -> new Response.Empty();
            case VALUE -> new Response.Value(values.read(from));
            case OWN_EXCEPTION -> new Response.ExceptionResponse(values.read(from) instanceof Throwable thrown
                    ? thrown
                    : new EncodingException("a response says that something was thrown that is no exception"));
            default -> {
                String type = from.readString();
                String message = from.readString();
                yield new Response.ExceptionResponse(EXCEPTIONS
                        .getOrDefault(type, m -> new OperationFailedException(type, String.valueOf(m))).apply(message));
            }
        };
    }
}
