package tutti.core.protocol;

import java.util.List;
import java.util.Map;
import tutti.core.schema.MessageSet;

/** What the rest of the system knows of {@link Nodo}. */
final class NodoDescriptor implements ProtocolDescriptor {
    private static final String YES = "yes";
    private static final Parameter.Choice TENTATIVE = new Parameter.Choice("tentative", List.of(YES, "no"),
            "Whether whole requests execute on tentative delivery, where the order tells of it.");

    @Override
    public String name() {
        return Nodo.NAME;
    }

    @Override
    public String idea() {
        return "Transactions are ordered by conflict classes first, and execute when they are first in every class.";
    }

    @Override
    public List<Parameter> parameters() {
        return List.of(TENTATIVE, CommonParameters.RELEASE_DELAY);
    }

    @Override
    public Claims claims(ParameterValues values) {
        return Claims.of(Guarantee.SERIALIZABILITY, Trait.COMMITS_BY_OWN_MESSAGE, Trait.MEMBERS_MAY_CHANGE,
                Trait.NEEDS_CLASSES);
    }

    @Override
    public Map<Stage, String> queues() {
        return Map.of(Stage.ORDERING, "Q0, Q1, Q2");
    }

    @Override
    public Protocol create(Deployment where, ParameterValues values, ReplicaWorld world) {
        return new Nodo(new Nodo.Parameters(where.node(), where.replicas(), values.of(TENTATIVE).equals(YES),
                values.of(CommonParameters.RELEASE_DELAY)), world);
    }

    @Override
    public MessageSet<Message> messages() {
        return ClassMessage.MESSAGES;
    }
}
