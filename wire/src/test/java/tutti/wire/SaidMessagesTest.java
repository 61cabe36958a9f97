package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;
import tutti.pgwire.Frontend;

/** Whether a rollback undoes what has been said does not depend on how often that is asked. */
class SaidMessagesTest {
    private final SaidMessages said = new SaidMessages();

    private void query(String sql) {
        ByteBuf message = Unpooled.buffer();
        Frontend.query(message, sql);
        said.say(Frontend.QUERY, message, Messages.HEADER, message.readableBytes() - Messages.HEADER);
    }

    @Test
    void aCursorIsTheTransactionsOwnIfAnEarlierMessageHasDeclaredIt() {
        said.begin();
        query("declare c cursor for select 1");
        assertTrue(said.undone());
        query("fetch c");
        assertTrue(said.undone());
        assertTrue(said.undone());
        said.begin();
        query("fetch c");
        assertFalse(said.undone());
    }

    @Test
    void whatIsNotUndoneStaysSoForTheTransaction() {
        said.begin();
        query("select 1");
        assertTrue(said.undone());
        query("select pg_advisory_lock(1)");
        query("select 2");
        assertFalse(said.undone());
        query("select 3");
        assertFalse(said.undone());
        said.begin();
        assertTrue(said.undone());
        query("select 4");
        assertTrue(said.undone());
    }
}
