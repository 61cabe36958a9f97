package tutti.macro.distribution;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Receives what arrives (MacroDDB, sections 4.2.3.1 and 4.2.2): puts requests into the request queues without looking at
 * their content, answers probes, and, for the clients of this node, gives replies to those who wait. The first of these
 * is not done at a node that is only a client.
 */
final class MessageListener implements GroupCommunication.Receiver {
    private final GroupCommunication communication;
    private final PendingReplies pending;
    private final OperationCodec codec;
    private final boolean host;
    private final RequestQueue ordered;
    private final RequestQueue direct;
    private final Consumer<@Nullable Throwable> onFailure;

    MessageListener(GroupCommunication communication, PendingReplies pending, OperationCodec codec, boolean host,
            RequestQueue ordered, RequestQueue direct, Consumer<@Nullable Throwable> onFailure) {
        this.communication = communication;
        this.pending = pending;
        this.codec = codec;
        this.host = host;
        this.ordered = ordered;
        this.direct = direct;
        this.onFailure = onFailure;
    }

    @Override
    public void onDelivery(byte[] message, int source, long position, boolean broadcast) {
        Input from = new Input(message);
        byte kind = from.readByte();
        switch (kind) {
            case Messages.REQUEST -> request(Messages.readRequest(from, source, position, broadcast));
            case Messages.RESPONSE -> response(from);
            case Messages.PROBE -> {
                if (host) {
                    reply(Messages.probe(Messages.PROBE_REPLY, RequestId.read(from)), source);
                }
            }
            case Messages.PROBE_REPLY -> pending.complete(RequestId.read(from), new Response.Value(source));
            default -> onFailure.accept(new EncodingException("node " + source + " sent a message of kind " + kind));
        }
    }

    private void request(Request request) {
        if (request.broadcast()) {
            // A read that its sender executes itself concerns nobody else, and one of nothing is only waited for.
            if (!host && request.content().length == 0) {
                pending.complete(request.id(), new Response.Empty());
            } else if (host && (!request.reads() || request.wantsReply() || pending.waits(request.id()))) {
                boolean _ = ordered.insertRequest(request);
            }
        } else if (host) {
            boolean _ = direct.insertRequest(request);
        } else {
            reply(Messages.response(request.id(), new Response.ExceptionResponse(new IllegalStateException(
                    "node " + communication.localAddress() + " is only a client and has no component")), codec),
                    request.source());
        }
    }

    private void response(Input from) {
        RequestId id = RequestId.read(from);
        if (pending.waits(id)) {
            Response response;
            try {
                response = codec.readResponse(from);
            } catch (RuntimeException e) {
                response = new Response.ExceptionResponse(
                        new EncodingException("the operation was executed, its result cannot be read here", e));
            }
            pending.complete(id, response);
        }
    }

    private void reply(byte[] message, int destination) {
        try {
            communication.reliableUnicast(message, destination);
        } catch (tutti.macro.WorkQueueFullException _) {
            // Who asked will have given up by the time that there is room; asking again is its to do.
            return;
        }
    }

    @Override
    public void failed(Throwable cause) {
        onFailure.accept(cause);
    }
}
