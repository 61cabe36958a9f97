package tutti.runtime.real;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import tutti.keys.ClusterAuthority;

/** Files with which nodes of tests prove who they are, in a directory of their own. */
public final class TestKeys {
    private TestKeys() {}

    /** Writes what an authority gives a node, which trusts that authority alone, and reads it. */
    public static PeerKeys of(Path directory, ClusterAuthority authority, int node) throws IOException {
        return PeerKeys.open(write(directory, authority.issue(node, Instant.now()), authority.certificate()),
                _ -> {});
    }

    /** Writes a certificate that was good for an hour, and is not any more. */
    public static PeerKeys.Source ofThePast(Path directory, ClusterAuthority authority, int node) throws IOException {
        return write(directory,
                authority.issue(node, Instant.now().minus(Duration.ofHours(2)), Duration.ofHours(1)),
                authority.certificate());
    }

    /** Writes files. */
    public static PeerKeys.Source write(Path directory, ClusterAuthority.Issued issued, String authorities)
            throws IOException {
        Files.createDirectories(directory);
        PeerKeys.Source source = PeerKeys.Source.in(directory);
        Files.writeString(source.certificate(), issued.certificate());
        PrivateFiles.write(source.key(), issued.key());
        Files.writeString(source.authorities(), authorities);
        return source;
    }
}
