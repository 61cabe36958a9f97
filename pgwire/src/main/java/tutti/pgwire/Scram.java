package tutti.pgwire;

import com.ongres.saslprep.SASLprep;
import com.ongres.stringprep.Profile;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * Proves to a client and a server that the other knows a password: SCRAM-SHA-256, both sides (RFC 5802, RFC 7677), as PostgreSQL speaks it. The server's side binds the exchange to its TLS certificate
 * if the client asks for that ({@code tls-server-end-point}, RFC 5929). A conversation object serves one exchange and one thread.
 */
public final class Scram {
    /** The mechanism's name. */
    public static final String MECHANISM = "SCRAM-SHA-256";
    /** The mechanism's name with channel binding. */
    public static final String MECHANISM_BOUND = MECHANISM + "-PLUS";
    private static final String BOUND = "p=tls-server-end-point";
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final int NONCE_BYTES = 18;
    private static final int MAXIMUM_ITERATIONS = 1_000_000;
    private static final Profile SASL_PREP = new SASLprep();

    private Scram() {}

    /** The exchange failed: wrong password, or a peer that does not follow the protocol. */
    public static final class ScramException extends Exception {
        private static final long serialVersionUID = 1;

        ScramException(String message) {
            super(message);
        }
    }

    /**
     * What a client proves. The arrays must not be modified.
     *
     * @param clientKey RFC 5802's ClientKey
     * @param serverKey RFC 5802's ServerKey, by which the server is checked
     */
    public record Keys(byte[] clientKey, byte[] serverKey) {}

    /**
     * What a server stores. The arrays must not be modified.
     *
     * @param iterations of the salted hash
     * @param salt of the salted hash
     * @param storedKey RFC 5802's StoredKey
     * @param serverKey RFC 5802's ServerKey
     */
    public record Verifier(int iterations, byte[] salt, byte[] storedKey, byte[] serverKey) {
        /**
         * Reads the form of {@code pg_authid.rolpassword}: {@code SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey}.
         *
         * @return null if it is of another form (MD5, none)
         */
        public static @Nullable Verifier parse(@Nullable String text) {
            if (text == null || !text.startsWith(MECHANISM + "$")) {
                return null;
            }
            String[] parts = text.substring(MECHANISM.length() + 1).split("[$:]", -1);
            if (parts.length != 4) {
                return null;
            }
            try {
                int iterations = Integer.parseInt(parts[0]);
                byte[] salt = Base64.getDecoder().decode(parts[1]);
                byte[] storedKey = Base64.getDecoder().decode(parts[2]);
                byte[] serverKey = Base64.getDecoder().decode(parts[3]);
                return iterations < 1 || storedKey.length != 32 || serverKey.length != 32
                        ? null
                        : new Verifier(iterations, salt, storedKey, serverKey);
            } catch (IllegalArgumentException _) {
                return null;
            }
        }

        /** Makes one from a password. */
        public static Verifier of(String password, byte[] salt, int iterations) {
            byte[] salted = saltedPassword(password, salt, iterations);
            return new Verifier(iterations, salt, hash(hmac(salted, "Client Key")), hmac(salted, "Server Key"));
        }

        /** One that no password matches, always the same for a role, so that nobody learns which roles exist. */
        public static Verifier mock(byte[] secret, String role) {
            byte[] salt = Arrays.copyOf(hmac(secret, "salt " + role), 16);
            byte[] unknown = new byte[32];
            RANDOM.nextBytes(unknown);
            return new Verifier(4096, salt, unknown, unknown);
        }

        @Override
        public String toString() {
            return MECHANISM + "$" + iterations + ":" + base64(salt) + "$" + base64(storedKey) + ":"
                    + base64(serverKey);
        }
    }

    /**
     * A password, with the keys that it gave with the salt that a server told last: to make them the password is hashed thousands of times, which takes
     * milliseconds. Safe for use from any thread.
     */
    public static final class Password {
        private final String text;
        private volatile @Nullable Known known;

        private record Known(byte[] salt, int iterations, Keys keys) {}

        /** Of which no keys are known. */
        public Password(String text) {
            this.text = text;
        }

        private Keys keys(byte[] salt, int iterations) {
            Known last = known;
            if (last == null || last.iterations != iterations || !MessageDigest.isEqual(last.salt, salt)) {
                byte[] salted = saltedPassword(text, salt, iterations);
                last = new Known(salt, iterations, new Keys(hmac(salted, "Client Key"), hmac(salted, "Server Key")));
                known = last;
            }
            return last.keys;
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Password that && text.equals(that.text);
        }

        @Override
        public int hashCode() {
            return text.hashCode();
        }

        @Override
        public String toString() {
            return "Password";
        }
    }

    /** The client's side. */
    public static final class Client {
        private final @Nullable Password password;
        private final String firstBare;
        private final String nonce;
        private @Nullable Keys keys;
        private byte @Nullable [] serverSignature;

        private Client(@Nullable Password password, @Nullable Keys keys, String user, String nonce) {
            this.password = password;
            this.keys = keys;
            this.nonce = nonce;
            this.firstBare = "n=" + user + ",r=" + nonce;
        }

        /** Proves a password. */
        public static Client ofPassword(Password password) {
            return new Client(password, null, "", newNonce());
        }

        /** Proves keys that were obtained earlier. */
        public static Client ofKeys(Keys keys) {
            return new Client(null, keys, "", newNonce());
        }

        static Client forTest(String password, String user, String nonce) {
            return new Client(new Password(password), null, user, nonce);
        }

        /** The first message to send. */
        public byte[] first() {
            return ascii("n,," + firstBare);
        }

        /** The second message to send, from the server's first. */
        public byte[] second(byte[] serverFirst) throws ScramException {
            String challenge = text(serverFirst);
            Map<Character, String> attributes = attributes(challenge);
            String combined = required(attributes, 'r');
            if (!combined.startsWith(nonce) || combined.length() == nonce.length()) {
                throw new ScramException("the server's nonce does not continue ours");
            }
            byte[] salt = decode(required(attributes, 's'));
            int iterations = number(required(attributes, 'i'));
            Keys proven = keys;
            if (proven == null) {
                proven = java.util.Objects.requireNonNull(password).keys(salt, iterations);
                keys = proven;
            }
            String withoutProof = "c=biws,r=" + combined;
            String authMessage = firstBare + "," + challenge + "," + withoutProof;
            serverSignature = hmac(proven.serverKey(), authMessage);
            return ascii(withoutProof + ",p=" + proof(authMessage));
        }

        /** What proves the keys, once they are known, for what has been said so far. */
        String proof(String authMessage) {
            byte[] proven = java.util.Objects.requireNonNull(keys).clientKey();
            return base64(xor(proven, hmac(hash(proven), authMessage)));
        }

        /** Checks the server's last message. */
        public void verify(byte[] serverFinal) throws ScramException {
            Map<Character, String> attributes = attributes(text(serverFinal));
            byte[] expected = serverSignature;
            if (expected == null || !MessageDigest.isEqual(expected, decode(required(attributes, 'v')))) {
                throw new ScramException("the server does not know the password's verifier");
            }
        }
    }

    /** The server's side. */
    public static final class Server {
        private final Verifier verifier;
        private final String nonce;
        private final byte[] endPoint;
        /** What the client has to say again in its second message, where an exchange is bound with the certificate's hash. */
        private byte[] header = {};
        private String clientFirstBare = "";
        private String challenge = "";
        private String combined = "";
        private @Nullable Keys keys;

        /** Checks a client against a verifier, over a connection that it cannot be bound to. */
        public Server(Verifier verifier) {
            this(verifier, newNonce(), new byte[0]);
        }

        /**
         * Checks a client against a verifier.
         *
         * @param endPoint hash of the certificate that the client has been shown, as {@link TlsEndPoint} makes it; empty if there is none
         */
        public Server(Verifier verifier, byte[] endPoint) {
            this(verifier, newNonce(), endPoint);
        }

        Server(Verifier verifier, String nonce, byte[] endPoint) {
            this.verifier = verifier;
            this.nonce = nonce;
            this.endPoint = endPoint.clone();
        }

        /** The names of what is offered, the best first. */
        public List<String> mechanisms() {
            return endPoint.length == 0 ? List.of(MECHANISM) : List.of(MECHANISM_BOUND, MECHANISM);
        }

        /**
         * The challenge to send, from the client's first message.
         *
         * @param mechanism which of {@link #mechanisms} the client has chosen
         */
        public byte[] challenge(String mechanism, byte[] clientFirst) throws ScramException {
            String message = text(clientFirst);
            int comma = message.indexOf(',');
            int end = comma < 0 ? -1 : message.indexOf(',', comma + 1);
            if (end < 0) {
                throw new ScramException("malformed SCRAM message");
            }
            String flag = message.substring(0, comma);
            boolean bound = mechanism.equals(MECHANISM_BOUND);
            if (bound != flag.startsWith("p=")) {
                throw new ScramException("the client's mechanism and its channel binding flag contradict each other");
            }
            if (bound ? !flag.equals(BOUND) : !flag.equals("n") && !flag.equals("y")) {
                throw new ScramException("unknown channel binding " + flag);
            }
            if (flag.equals("y") && endPoint.length > 0) {
                throw new ScramException(
                        "the client has not been shown that channel binding is offered: somebody stands between");
            }
            byte[] said = ascii(message.substring(0, end + 1));
            header = Arrays.copyOf(said, said.length + (bound ? endPoint.length : 0));
            System.arraycopy(endPoint, 0, header, said.length, header.length - said.length);
            clientFirstBare = message.substring(end + 1);
            String clientNonce = required(attributes(clientFirstBare), 'r');
            combined = clientNonce + nonce;
            challenge = "r=" + combined + ",s=" + base64(verifier.salt()) + ",i=" + verifier.iterations();
            return ascii(challenge);
        }

        /**
         * The outcome to send, from the client's second message.
         *
         * @throws ScramException if the client does not know the password; {@code null} message never
         */
        public byte[] outcome(byte[] clientSecond) throws ScramException {
            String message = text(clientSecond);
            Map<Character, String> attributes = attributes(message);
            int proofAt = message.lastIndexOf(",p=");
            if (proofAt < 0 || !required(attributes, 'c').equals(base64(header))
                    || !required(attributes, 'r').equals(combined)) {
                throw new ScramException("malformed SCRAM message");
            }
            byte[] proof = decode(message.substring(proofAt + 3));
            String authMessage = clientFirstBare + "," + challenge + "," + message.substring(0, proofAt);
            byte[] signature = hmac(verifier.storedKey(), authMessage);
            if (proof.length != signature.length) {
                throw new ScramException("malformed SCRAM proof");
            }
            byte[] clientKey = xor(proof, signature);
            if (!MessageDigest.isEqual(hash(clientKey), verifier.storedKey())) {
                throw new ScramException("wrong password");
            }
            keys = new Keys(clientKey, verifier.serverKey());
            return ascii("v=" + base64(hmac(verifier.serverKey(), authMessage)));
        }

        /** What the client proved, after success: enough to prove the same to another server with the same verifier. */
        public Keys keys() {
            return java.util.Objects.requireNonNull(keys, "the exchange has not succeeded");
        }
    }

    private static String newNonce() {
        byte[] bytes = new byte[NONCE_BYTES];
        RANDOM.nextBytes(bytes);
        return base64(bytes);
    }

    private static Map<Character, String> attributes(String message) throws ScramException {
        Map<Character, String> attributes = new HashMap<>();
        for (String part : message.split(",", -1)) {
            if (part.length() < 2 || part.charAt(1) != '=') {
                throw new ScramException("malformed SCRAM message");
            }
            attributes.putIfAbsent(part.charAt(0), part.substring(2));
        }
        if (attributes.containsKey('m')) {
            throw new ScramException("unknown mandatory SCRAM extension");
        }
        if (attributes.containsKey('e')) {
            throw new ScramException("the peer says: " + attributes.get('e'));
        }
        return attributes;
    }

    private static String required(Map<Character, String> attributes, char name) throws ScramException {
        String value = attributes.get(name);
        if (value == null) {
            throw new ScramException("SCRAM message without attribute " + name);
        }
        return value;
    }

    private static int number(String text) throws ScramException {
        try {
            int number = Integer.parseInt(text);
            if (number >= 1 && number <= MAXIMUM_ITERATIONS) {
                return number;
            }
        } catch (NumberFormatException _) {
            // said below, like a number out of range
        }
        throw new ScramException("SCRAM iteration count must be 1 to " + MAXIMUM_ITERATIONS);
    }

    private static byte[] decode(String base64) throws ScramException {
        try {
            return Base64.getDecoder().decode(base64);
        } catch (IllegalArgumentException _) {
            throw new ScramException("malformed base64 in SCRAM message");
        }
    }

    private static String base64(byte[] bytes) {
        return Base64.getEncoder().encodeToString(bytes);
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static byte[] xor(byte[] one, byte[] other) {
        byte[] result = new byte[one.length];
        for (int i = 0; i < result.length; i++) {
            result[i] = (byte) (one[i] ^ other[i]);
        }
        return result;
    }

    /** By SASLprep (RFC 4013). As PostgreSQL does, a password that SASLprep prohibits is used as it is. */
    static String prepared(String password) {
        try {
            String prepared = SASL_PREP.prepareStored(password);
            return prepared.isEmpty() ? password : prepared;
        } catch (IllegalArgumentException prohibited) {
            return password;
        }
    }

    static byte[] saltedPassword(String password, byte[] salt, int iterations) {
        Mac mac = mac(ascii(prepared(password)));
        mac.update(salt);
        byte[] round = mac.doFinal(new byte[]{0, 0, 0, 1});
        byte[] result = round.clone();
        for (int i = 1; i < iterations; i++) {
            round = mac.doFinal(round);
            for (int j = 0; j < result.length; j++) {
                result[j] ^= round[j];
            }
        }
        return result;
    }

    private static byte[] hmac(byte[] key, String text) {
        return mac(key).doFinal(ascii(text));
    }

    private static Mac mac(byte[] key) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key.length == 0 ? new byte[1] : key, "HmacSHA256"));
            return mac;
        } catch (GeneralSecurityException missing) {
            throw new IllegalStateException("every JDK has HmacSHA256", missing);
        }
    }

    private static byte[] hash(byte[] bytes) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(bytes);
        } catch (GeneralSecurityException missing) {
            throw new IllegalStateException("every JDK has SHA-256", missing);
        }
    }
}
