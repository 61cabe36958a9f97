package tutti.core.protocol;

import java.util.List;
import tutti.core.schema.MessageSet;

/** What the rest of the system knows of {@link SnapshotIsolation}. */
final class SnapshotIsolationDescriptor implements ProtocolDescriptor {
    private static final Parameter.Count TURNS = CommonParameters.turns(2);

    @Override
    public String name() {
        return SnapshotIsolation.NAME;
    }

    @Override
    public String idea() {
        return "Transactions execute where they are submitted and are certified, write against write, at every replica once"
                + " ordered.";
    }

    @Override
    public List<Parameter> parameters() {
        return List.of(CommonParameters.WINDOW, CommonParameters.WINDOW_KEYS, CommonParameters.PROGRESS_INTERVAL,
                TURNS);
    }

    @Override
    public Claims claims(ParameterValues values) {
        return Claims.of(Guarantee.SNAPSHOT_ISOLATION, Trait.EXECUTES_AT_ONCE, Trait.COMMITS_BY_OWN_MESSAGE,
                Trait.MEMBERS_MAY_CHANGE, Trait.CERTIFIES_BY_KEYS,
                Trait.TAKES_READS);
    }

    @Override
    public Protocol create(Deployment where, ParameterValues values, ReplicaWorld world) {
        return new SnapshotIsolation(new SnapshotIsolation.Parameters(where.node(), where.replicas(),
                values.of(CommonParameters.WINDOW), (int) values.of(CommonParameters.WINDOW_KEYS),
                values.of(CommonParameters.PROGRESS_INTERVAL),
                (int) values.of(TURNS)), world);
    }

    @Override
    public MessageSet<Message> messages() {
        return SnapshotIsolation.MESSAGES;
    }
}
