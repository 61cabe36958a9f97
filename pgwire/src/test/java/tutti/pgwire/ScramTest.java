package tutti.pgwire;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import org.junit.jupiter.api.Test;
import tutti.pgwire.Scram.ScramException;

class ScramTest {
    /** The example of RFC 7677 section 3. */
    private static final String SERVER_FIRST = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
            + "s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
    private static final String CLIENT_FINAL = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
            + "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
    private static final String SERVER_FINAL = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";
    private static final byte[] SALT = Base64.getDecoder().decode("W22ZaJ0SNY7soEsUEjb6gQ==");

    @Test
    void clientFollowsTheExampleOfTheRfc() throws ScramException {
        Scram.Client client = Scram.Client.forTest("pencil", "user", "rOprNGfwEbeRWgbNEkqO");
        assertEquals("n,,n=user,r=rOprNGfwEbeRWgbNEkqO", text(client.first()));
        assertEquals(CLIENT_FINAL, text(client.second(bytes(SERVER_FIRST))));
        client.verify(bytes(SERVER_FINAL));
        assertThrows(ScramException.class, () -> client.verify(bytes("v=AAAA")));
    }

    @Test
    void serverFollowsTheExampleOfTheRfc() throws ScramException {
        Scram.Server server = new Scram.Server(Scram.Verifier.of("pencil", SALT, 4096),
                "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", new byte[0]);
        assertEquals(SERVER_FIRST,
                text(server.challenge(Scram.MECHANISM, bytes("n,,n=user,r=rOprNGfwEbeRWgbNEkqO"))));
        assertEquals(SERVER_FINAL, text(server.outcome(bytes(CLIENT_FINAL))));
    }

    @Test
    void keysProvedByAClientProveItToAnotherServer() throws ScramException {
        Scram.Verifier verifier = Scram.Verifier.of("pencil", SALT, 4096);
        Scram.Server first = new Scram.Server(verifier);
        converse(Scram.Client.ofPassword(new Scram.Password("pencil")), first);
        converse(Scram.Client.ofKeys(first.keys()), new Scram.Server(verifier));
    }

    @Test
    void aPasswordProvesItselfAgainWhateverSaltItIsAskedWith() throws ScramException {
        Scram.Password password = new Scram.Password("pencil");
        byte[] other = SALT.clone();
        other[0]++;
        for (Scram.Verifier verifier : new Scram.Verifier[]{Scram.Verifier.of("pencil", SALT, 4096),
                Scram.Verifier.of("pencil", SALT, 4096), Scram.Verifier.of("pencil", other, 4096),
                Scram.Verifier.of("pencil", other, 4097), Scram.Verifier.of("pencil", SALT, 4096)}) {
            converse(Scram.Client.ofPassword(password), new Scram.Server(verifier));
        }
    }

    @Test
    void wrongPasswordAndMockVerifierAreRefused() {
        Scram.Verifier verifier = Scram.Verifier.of("pencil", SALT, 4096);
        assertThrows(ScramException.class,
                () -> converse(Scram.Client.ofPassword(new Scram.Password("pen")), new Scram.Server(verifier)));
        Scram.Verifier mock = Scram.Verifier.mock(bytes("secret"), "nobody");
        assertThrows(ScramException.class,
                () -> converse(Scram.Client.ofPassword(new Scram.Password("")), new Scram.Server(mock)));
        assertArrayEquals(mock.salt(), Scram.Verifier.mock(bytes("secret"), "nobody").salt());
    }

    @Test
    void malformedMessagesAreRefused() {
        for (String message : new String[]{"", ",", "n", "n,,", "p=tls-unique,,n=,r=a", "x,,n=,r=a", "n,,m=1,r=a",
                "n,,n=", "nn,,n=,r=a"}) {
            assertThrows(ScramException.class,
                    () -> new Scram.Server(Scram.Verifier.of("a", SALT, 1)).challenge(Scram.MECHANISM, bytes(message)),
                    message);
        }
        for (String message : new String[]{"", "r=", "r=x,s=AA==,i=1", "r=abcd,s=!,i=1", "r=abcd,s=AA==,i=0",
                "r=abcd,s=AA==,i=99999999", "r=abc,s=AA==,i=1"}) {
            assertThrows(ScramException.class,
                    () -> Scram.Client.forTest("a", "", "abc").second(bytes(message)), message);
        }
    }

    @Test
    void verifierReadsWhatItPrints() {
        Scram.Verifier verifier = Scram.Verifier.of("pencil", SALT, 4096);
        assertEquals(verifier.toString(), String.valueOf(Scram.Verifier.parse(verifier.toString())));
        assertNull(Scram.Verifier.parse("md5abc"));
        assertNull(Scram.Verifier.parse("SCRAM-SHA-256$x:y$z:w"));
        assertNull(Scram.Verifier.parse(null));
    }

    @Test
    void passwordsArePreparedAsRfc4013Says() {
        assertEquals("IX", Scram.prepared("I\u00ADX"));
        assertEquals("user", Scram.prepared("user"));
        assertEquals("USER", Scram.prepared("USER"));
        assertEquals("a", Scram.prepared("\u00AA"));
        assertEquals("IX", Scram.prepared("\u2168"));
        assertEquals("\u0007", Scram.prepared("\u0007"));
        assertEquals("\u06271", Scram.prepared("\u06271"));
        assertEquals("\u00AA\uD83D\uDE00", Scram.prepared("\u00AA\uD83D\uDE00"), "not in Unicode 3.2: as it is");
    }

    private static final byte[] END_POINT = bytes("the hash of a certificate");

    private static Scram.Server boundServer() {
        return new Scram.Server(Scram.Verifier.of("pencil", SALT, 4096), END_POINT);
    }

    /** The client's second message, as one that is bound to this end point says it. */
    private static byte[] bound(Scram.Server server, String header, byte[] endPoint) throws ScramException {
        Scram.Client client = Scram.Client.forTest("pencil", "", "abc");
        byte[] challenge = server.challenge(Scram.MECHANISM_BOUND, bytes(header + "n=,r=abc"));
        String plain = text(client.second(challenge));
        byte[] said = new byte[header.length() + endPoint.length];
        System.arraycopy(bytes(header), 0, said, 0, header.length());
        System.arraycopy(endPoint, 0, said, header.length(), endPoint.length);
        String withoutProof = plain.substring(0, plain.lastIndexOf(",p=")).replace("c=biws",
                "c=" + Base64.getEncoder().encodeToString(said));
        return bytes(withoutProof + ",p="
                + client.proof("n=,r=abc," + text(challenge) + "," + withoutProof));
    }

    @Test
    void aClientCanProveWhomItTalksTo() throws ScramException {
        Scram.Server server = boundServer();
        assertEquals(List.of(Scram.MECHANISM_BOUND, Scram.MECHANISM), server.mechanisms());
        server.outcome(bound(server, "p=tls-server-end-point,,", END_POINT));
        server.keys();
        converse(Scram.Client.ofPassword(new Scram.Password("pencil")), boundServer());
    }

    @Test
    void whoSeesAnotherCertificateIsRefused() throws ScramException {
        for (String other : List.of("", "the hash of another one", "the hash of a certificate.")) {
            Scram.Server server = boundServer();
            byte[] second = bound(server, "p=tls-server-end-point,,", bytes(other));
            assertThrows(ScramException.class, () -> server.outcome(second), other);
        }
    }

    /** Somebody in between may have taken the better mechanism from what the server offers: the client says that it would have used it. */
    @Test
    void whatIsOfferedCannotBeTakenAway() {
        assertThrows(ScramException.class, () -> boundServer().challenge(Scram.MECHANISM, bytes("y,,n=,r=a")));
        for (String first : List.of("n,,n=,r=a", "y,,n=,r=a", "p=tls-unique,,n=,r=a")) {
            assertThrows(ScramException.class, () -> boundServer().challenge(Scram.MECHANISM_BOUND, bytes(first)),
                    first);
        }
        assertThrows(ScramException.class,
                () -> boundServer().challenge(Scram.MECHANISM, bytes("p=tls-server-end-point,,n=,r=a")));
    }

    private static void converse(Scram.Client client, Scram.Server server) throws ScramException {
        byte[] second = client.second(server.challenge(Scram.MECHANISM, client.first()));
        client.verify(server.outcome(second));
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
