package tutti.pgwire;

import io.netty.buffer.ByteBuf;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** What a client that has just connected wants: the packets without type byte that may begin a connection. */
public sealed interface StartupPacket {
    /** It asks for TLS. */
    record Ssl() implements StartupPacket {}

    /** It asks for GSSAPI encryption. */
    record Gss() implements StartupPacket {}

    /** It wants what another connection runs to be cancelled. The array must not be modified. */
    record Cancel(int processId, byte[] secretKey) implements StartupPacket {}

    /**
     * It begins a session.
     *
     * @param major protocol version, major part
     * @param minor protocol version, minor part
     * @param parameters in the order sent
     */
    record Startup(int major, int minor, Map<String, String> parameters) implements StartupPacket {}

    /** Reads a packet's body, that is, what follows its length. */
    static StartupPacket read(ByteBuf body) {
        int code = Fields.int32(body);
        switch (code) {
            case Frontend.SSL_CODE -> {
                return new Ssl();
            }
            case Frontend.GSS_CODE -> {
                return new Gss();
            }
            case Frontend.CANCEL_CODE -> {
                int processId = Fields.int32(body);
                byte[] key = Fields.rest(body);
                if (key.length < 4 || key.length > 256) {
                    throw new ProtocolViolation("invalid length " + key.length + " of a cancel request's key");
                }
                return new Cancel(processId, key);
            }
            default -> {
                if (code >>> 16 != 3) {
                    throw unsupported(code);
                }
            }
        }
        Map<String, String> parameters = new LinkedHashMap<>();
        while (true) {
            String name = Fields.cString(body);
            if (name.isEmpty()) {
                break;
            }
            parameters.put(name, Fields.cString(body));
        }
        if (body.isReadable()) {
            throw new ProtocolViolation("invalid startup packet layout: expected terminator as last byte");
        }
        return new Startup(code >>> 16, code & 0xffff, Collections.unmodifiableMap(parameters));
    }

    /** What is said of a packet with this code where none may come. */
    static ProtocolViolation unsupported(int code) {
        return new ProtocolViolation("unsupported frontend protocol " + (code >>> 16) + "." + (code & 0xffff)
                + ": server supports 3.0 to 3.2", "0A000");
    }
}
