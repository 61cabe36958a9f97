package tutti.sim.world;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import tutti.core.flight.FlightRecorder;
import tutti.core.flight.FlightRecording;
import tutti.core.protocol.Claims;
import tutti.core.protocol.Deployment;
import tutti.core.protocol.Message;
import tutti.core.protocol.Parameter;
import tutti.core.protocol.ParameterValues;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.ProtocolDescriptor;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.schema.MessageSet;

/** A protocol with a flight recorder in every life of every replica. */
final class RecordedDescriptor implements ProtocolDescriptor {
    /** A replica's life with what is recorded of it. */
    record Flight(Deployment where, ParameterValues values, FlightRecorder recorder) {
        /** Written to a file and read again. */
        FlightRecording recording() {
            ByteArrayOutputStream file = new ByteArrayOutputStream();
            recorder.recording(Map.of()).encode(piece -> file.write(piece.array(),
                    piece.arrayOffset() + piece.position(), piece.remaining()));
            return FlightRecording.decode(file.toByteArray(), "the recording");
        }
    }

    private static final int BYTES = 1 << 24;

    private final ProtocolDescriptor recorded;
    private final long nanos;
    private final List<Flight> flights = new ArrayList<>();
    private long clock;

    /**
     * Records a protocol.
     *
     * @param nanos how far back is kept at least; there are two or three to an event
     */
    RecordedDescriptor(ProtocolDescriptor recorded, long nanos) {
        this.recorded = recorded;
        this.nanos = nanos;
    }

    List<Flight> flights() {
        return flights;
    }

    @Override
    public Protocol create(Deployment where, ParameterValues values, ReplicaWorld world) {
        FlightRecorder recorder = new FlightRecorder(
                new FlightRecording.Subject(name(), Map.of(), where.node(), where.replicas()),
                new FlightRecorder.Limits(BYTES, nanos), () -> ++clock, why -> {
                    throw new AssertionError(why);
                });
        flights.add(new Flight(where, values, recorder));
        return recorder.attach(world, seam -> recorded.create(where, values, seam));
    }

    @Override
    public String name() {
        return recorded.name();
    }

    @Override
    public String idea() {
        return recorded.idea();
    }

    @Override
    public List<Parameter> parameters() {
        return recorded.parameters();
    }

    @Override
    public Claims claims(ParameterValues values) {
        return recorded.claims(values);
    }

    @Override
    public Set<Integer> voters(Set<Integer> replicas, ParameterValues values) {
        return recorded.voters(replicas, values);
    }

    @Override
    public MessageSet<Message> messages() {
        return recorded.messages();
    }
}
