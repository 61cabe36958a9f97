package tutti.cluster;

import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tutti.command.Failure;
import tutti.command.Program;
import tutti.keys.ClusterAuthority;
import tutti.runtime.PeerIdentity;

/** Makes what the nodes of a cluster on several machines prove with who they are. */
@Command(name = "keys", description = "Make and renew the certificates with which the nodes of a cluster on several"
        + " machines know each other (docs/keys.md). `tutti start` makes those of its own.", subcommands = {
                KeysCommand.CreateCluster.class, KeysCommand.Issue.class, KeysCommand.Renew.class,
                KeysCommand.Show.class})
public final class KeysCommand implements Callable<Integer> {
    private static final String AUTHORITY = "authority";

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        spec.commandLine().usage(spec.commandLine().getOut());
        return Program.OK;
    }

    /** Makes an authority. */
    @Command(name = "create-cluster", description = "Make the authority of a new cluster, and with it the cluster's id."
            + " Keep the directory where no node is: whoever has it can become any node.")
    static final class CreateCluster implements Callable<Integer> {
        @Option(names = "--out", paramLabel = "DIR", defaultValue = AUTHORITY, description = "Where to write it (default: ${DEFAULT-VALUE}).")
        private Path out;

        @Option(names = "--succeeding", paramLabel = "DIR", description = "The directory of an authority, whose cluster gets another one: nodes with certificates of the new one trust both.")
        private @Nullable Path before;

        @Spec
        private CommandSpec spec;

        @Override
        public Integer call() {
            ClusterAuthority made = before == null ? KeyFiles.createCluster(out) : KeyFiles.succeed(before, out);
            PrintWriter to = spec.commandLine().getOut();
            to.println("cluster " + made.cluster() + ": its authority is in " + out + ", good until " + made.until());
            to.println("Next, for every node N: tutti keys issue --authority " + out + " --node N --out DIR");
            to.flush();
            return Program.OK;
        }
    }

    /** Makes a node's certificate. */
    @Command(name = "issue", description = "Make the certificate of a node, with its key and all else that it needs. Copy"
            + " the directory to the node's machine as `keys`, beside its configuration file.")
    static final class Issue implements Callable<Integer> {
        @Option(names = "--authority", paramLabel = "DIR", defaultValue = AUTHORITY, description = "The authority's directory (default: ${DEFAULT-VALUE}).")
        private Path authority;

        @Option(names = "--node", paramLabel = "N", required = true, description = "Its number among the members.")
        private int node;

        @Option(names = "--out", paramLabel = "DIR", required = true, description = "Where to write them.")
        private Path out;

        @Spec
        private CommandSpec spec;

        @Override
        public Integer call() {
            if (node < 0) {
                throw Failure.usage("nodes have numbers from 0, not " + node, "");
            }
            if (Files.exists(out.resolve("node.crt")) && KeyFiles.node(out).node() != node) {
                throw new Failure(out + " holds the certificate of " + KeyFiles.node(out),
                        "choose a directory of its own for each node");
            }
            KeyFiles.issue(authority, node, out);
            tell(spec, out);
            return Program.OK;
        }
    }

    /** Makes a new certificate for the same node. */
    @Command(name = "renew", description = "Make a new certificate and key for the node that a directory is of. A node that"
            + " runs uses them as soon as they are there.")
    static final class Renew implements Callable<Integer> {
        @Option(names = "--authority", paramLabel = "DIR", defaultValue = AUTHORITY, description = "The authority's directory (default: ${DEFAULT-VALUE}).")
        private Path authority;

        @Option(names = "--out", paramLabel = "DIR", required = true, description = "The node's directory.")
        private Path out;

        @Spec
        private CommandSpec spec;

        @Override
        public Integer call() {
            PeerIdentity node = KeyFiles.node(out);
            String cluster = KeyFiles.authority(authority).cluster();
            if (!node.cluster().equals(cluster)) {
                throw new Failure(out + " is of " + node + ", and " + authority + " is the authority of cluster "
                        + cluster, "name the authority of the same cluster");
            }
            KeyFiles.issue(authority, node.node(), out);
            tell(spec, out);
            return Program.OK;
        }
    }

    /** Says whose a directory is. */
    @Command(name = "show", description = "Say which node of which cluster a directory is of, and until when.")
    static final class Show implements Callable<Integer> {
        @Option(names = "--out", paramLabel = "DIR", defaultValue = "keys", description = "The node's directory (default: ${DEFAULT-VALUE}).")
        private Path out;

        @Spec
        private CommandSpec spec;

        @Override
        public Integer call() {
            tell(spec, out);
            return Program.OK;
        }
    }

    private static void tell(CommandSpec spec, Path directory) {
        PrintWriter to = spec.commandLine().getOut();
        to.println(KeyFiles.node(directory) + ": " + directory + ", good until " + KeyFiles.until(directory));
        to.flush();
    }
}
