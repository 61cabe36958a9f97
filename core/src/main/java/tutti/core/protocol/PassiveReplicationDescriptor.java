package tutti.core.protocol;

import java.util.List;
import tutti.core.schema.MessageSet;

/** What the rest of the system knows of {@link PassiveReplication}. */
final class PassiveReplicationDescriptor implements ProtocolDescriptor {
    private static final Parameter.Time TAKE_OVER_DELAY = CommonParameters.delay("take-over-delay", 2_000_000_000L,
            "How long the primary must be missed before another replica takes over.");

    @Override
    public String name() {
        return PassiveReplication.NAME;
    }

    @Override
    public String idea() {
        return "One primary executes all that changes the database and ships the changes; another takes over when it is"
                + " gone.";
    }

    @Override
    public List<Parameter> parameters() {
        return List.of(CommonParameters.WINDOW, CommonParameters.WINDOW_KEYS, TAKE_OVER_DELAY);
    }

    @Override
    public Claims claims(ParameterValues values) {
        return Claims.of(Guarantee.STRONG_SNAPSHOT_ISOLATION, Trait.COMMITS_BY_OWN_MESSAGE, Trait.ONE_PRIMARY);
    }

    @Override
    public Protocol create(Deployment where, ParameterValues values, ReplicaWorld world) {
        return new PassiveReplication(new PassiveReplication.Parameters(where.node(), where.replicas(),
                values.of(CommonParameters.WINDOW), (int) values.of(CommonParameters.WINDOW_KEYS),
                values.of(TAKE_OVER_DELAY)), world);
    }

    @Override
    public MessageSet<Message> messages() {
        return PassiveReplication.MESSAGES;
    }
}
