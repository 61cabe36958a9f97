package tutti.minha.rewrite;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** A static method that rewritten programs call instead of one of the JDK, with the same parameters and result. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
@interface Replaces {
    /** Whose method it is. */
    Class<?> owner();

    /** Its name, if it is another one. */
    String name() default "";

    /** Whether it is called on an object, which comes first here. */
    boolean instance() default false;
}
