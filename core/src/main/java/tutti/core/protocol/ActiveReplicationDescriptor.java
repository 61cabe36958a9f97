package tutti.core.protocol;

import java.util.List;
import tutti.core.schema.MessageSet;

/** What the rest of the system knows of {@link ActiveReplication}. */
final class ActiveReplicationDescriptor implements ProtocolDescriptor {
    @Override
    public String name() {
        return ActiveReplication.NAME;
    }

    @Override
    public String idea() {
        return "Whole deterministic requests are ordered and executed by every replica, one after another.";
    }

    @Override
    public List<Parameter> parameters() {
        return List.of();
    }

    @Override
    public Claims claims(ParameterValues values) {
        return Claims.of(Guarantee.SERIALIZABILITY, Trait.COMMITS_BY_OWN_MESSAGE, Trait.MEMBERS_MAY_CHANGE,
                Trait.WHOLE_ONLY,
                Trait.EVERYWHERE_IF_POSSIBLE);
    }

    @Override
    public Protocol create(Deployment where, ParameterValues values, ReplicaWorld world) {
        return new ActiveReplication(world);
    }

    @Override
    public MessageSet<Message> messages() {
        return ActiveReplication.MESSAGES;
    }
}
