package tutti.jcache;

import java.time.Instant;
import javax.cache.expiry.Duration;
import javax.cache.expiry.ExpiryPolicy;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Until when entries are there, as a cache's policy says it of a transaction's time. A policy that fails is as one that says nothing. */
record Expiry(ExpiryPolicy policy) {
    private static final Logger LOGGER = LoggerFactory.getLogger(Expiry.class);

    /** What a policy is asked. */
    private interface Question {
        @Nullable
        Duration ask(ExpiryPolicy policy);
    }

    /** Until when an entry that is new is there. */
    Instant created(Instant now) {
        Instant until = instant(ExpiryPolicy::getExpiryForCreation, now);
        return until == null ? Instant.MAX : until;
    }

    /** Until when an entry that was there is; null if that has not changed. */
    @Nullable
    Instant updated(Instant now) {
        return instant(ExpiryPolicy::getExpiryForUpdate, now);
    }

    /** The same when it was only read. */
    @Nullable
    Instant accessed(Instant now) {
        return instant(ExpiryPolicy::getExpiryForAccess, now);
    }

    private @Nullable Instant instant(Question question, Instant now) {
        try {
            Duration duration = question.ask(policy);
            if (duration == null) {
                return null;
            }
            return duration.isEternal()
                    ? Instant.MAX
                    : Instant.ofEpochMilli(duration.getAdjustedTime(now.toEpochMilli()));
        } catch (RuntimeException failed) {
            LOGGER.warn("an expiry policy has failed: the entry stays as it is", failed);
            return null;
        }
    }
}
