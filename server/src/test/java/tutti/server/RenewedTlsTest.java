package tutti.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.cert.X509Certificate;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.server.config.NodeConfig;

/** Which certificate clients get after its files have changed. */
@Timeout(60)
class RenewedTlsTest {
    @TempDir
    private Path directory;
    private final AtomicLong time = new AtomicLong(1);

    private void certificate(String name, String host) throws Exception {
        Process openssl = new ProcessBuilder("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-subj", "/CN=" + host, "-keyout",
                directory.resolve(name + ".key").toString(), "-out", directory.resolve(name + ".crt").toString())
                .redirectErrorStream(true).redirectOutput(directory.resolve("log").toFile()).start();
        assertEquals(0, openssl.waitFor(), Files.readString(directory.resolve("log")));
    }

    private void put(String from, String extension) throws IOException {
        Files.copy(directory.resolve(from + extension), directory.resolve("now.new"),
                StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.COPY_ATTRIBUTES);
        Files.move(directory.resolve("now.new"), directory.resolve("now" + extension), StandardCopyOption.ATOMIC_MOVE);
        time.addAndGet(TimeUnit.SECONDS.toNanos(2));
    }

    /** Whom a client takes the server for, after a handshake in memory. */
    private static String shown(SslContext tls) throws Exception {
        SSLEngine server = tls.newEngine(UnpooledByteBufAllocator.DEFAULT);
        SSLEngine client = SslContextBuilder.forClient().sslProvider(SslProvider.JDK)
                .trustManager(InsecureTrustManagerFactory.INSTANCE)
                .endpointIdentificationAlgorithm("").build().newEngine(UnpooledByteBufAllocator.DEFAULT);
        ByteBuffer toServer = ByteBuffer.allocate(1 << 16);
        ByteBuffer toClient = ByteBuffer.allocate(1 << 16);
        while (client.getHandshakeStatus() != HandshakeStatus.FINISHED
                && (client.getSession().getProtocol().equals("NONE")
                        || client.getHandshakeStatus() != HandshakeStatus.NOT_HANDSHAKING)) {
            step(client, toClient, toServer);
            step(server, toServer, toClient);
        }
        return ((X509Certificate) client.getSession().getPeerCertificates()[0]).getSubjectX500Principal().getName();
    }

    private static void step(SSLEngine engine, ByteBuffer in, ByteBuffer out) throws Exception {
        engine.wrap(ByteBuffer.allocate(0), out);
        in.flip();
        engine.unwrap(in, ByteBuffer.allocate(1 << 16));
        in.compact();
        for (Runnable task = engine.getDelegatedTask(); task != null; task = engine.getDelegatedTask()) {
            task.run();
        }
    }

    @Test
    void whoConnectsLaterGetsTheNewOne() throws Exception {
        certificate("one", "first.example");
        certificate("two", "second.example");
        put("one", ".crt");
        put("one", ".key");
        NodeConfig.Tls files = new NodeConfig.Tls(directory.resolve("now.crt"), directory.resolve("now.key"), false);
        RenewedTls tls = new RenewedTls(files, time::get);
        assertEquals("CN=first.example", shown(tls));
        put("two", ".crt");
        assertEquals("CN=first.example", shown(tls), "its key is not there yet");
        put("two", ".key");
        assertEquals("CN=second.example", shown(tls));
        put("one", ".crt");
        Files.setPosixFilePermissions(directory.resolve("one.key"), PosixFilePermissions.fromString("rw-r--r--"));
        put("one", ".key");
        assertEquals("CN=second.example", shown(tls), "others may read its key");
        assertThrows(IOException.class, () -> new RenewedTls(files, time::get));
        Files.setPosixFilePermissions(directory.resolve("now.key"), PosixFilePermissions.fromString("rw-r-----"));
        assertEquals("CN=first.example", shown(new RenewedTls(files, time::get)), "a group of readers may");
        Files.delete(directory.resolve("now.key"));
        time.addAndGet(TimeUnit.SECONDS.toNanos(2));
        assertEquals("CN=second.example", shown(tls));
        assertThrows(IOException.class, () -> new RenewedTls(files, time::get));
    }
}
