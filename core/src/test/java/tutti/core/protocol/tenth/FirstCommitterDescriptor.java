package tutti.core.protocol.tenth;

import java.util.List;
import tutti.core.protocol.Claims;
import tutti.core.protocol.Deployment;
import tutti.core.protocol.Guarantee;
import tutti.core.protocol.Message;
import tutti.core.protocol.Parameter;
import tutti.core.protocol.ParameterValues;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.ProtocolDescriptor;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.protocol.Trait;
import tutti.core.schema.MessageSet;

/** What the rest of the system knows of {@link FirstCommitter}. */
public final class FirstCommitterDescriptor implements ProtocolDescriptor {
    @Override
    public String name() {
        return FirstCommitter.NAME;
    }

    @Override
    public String idea() {
        return "A transaction commits only if nothing has committed since it began.";
    }

    @Override
    public List<Parameter> parameters() {
        return List.of();
    }

    @Override
    public Claims claims(ParameterValues values) {
        return Claims.of(Guarantee.SERIALIZABILITY, Trait.EXECUTES_AT_ONCE, Trait.COMMITS_BY_OWN_MESSAGE);
    }

    @Override
    public Protocol create(Deployment where, ParameterValues values, ReplicaWorld world) {
        return new FirstCommitter(world);
    }

    @Override
    public MessageSet<Message> messages() {
        return FirstCommitter.MESSAGES;
    }
}
