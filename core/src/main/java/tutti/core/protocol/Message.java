package tutti.core.protocol;

import tutti.core.schema.Encoded;

/** Something that one replica's protocol tells the others. Each protocol has its own; immutable. */
public interface Message extends Encoded {}
