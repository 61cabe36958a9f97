package tutti.minha.rewrite;

import static java.lang.constant.ConstantDescs.CD_Object;
import static java.lang.constant.ConstantDescs.CD_int;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.lang.classfile.AccessFlags;
import java.lang.classfile.ClassBuilder;
import java.lang.classfile.ClassElement;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassHierarchyResolver.ClassHierarchyInfo;
import java.lang.classfile.ClassModel;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeModel;
import java.lang.classfile.Label;
import java.lang.classfile.MethodBuilder;
import java.lang.classfile.MethodElement;
import java.lang.classfile.MethodModel;
import java.lang.classfile.attribute.CodeAttribute;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.reflect.AccessFlag;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Rewrites a class file for the simulation: first its types ({@link TypeRenamer}), then the code of its methods
 * ({@link BodyRewriter}); a class that has no hash code of its own is given one that is the same in each run.
 */
final class Rewriter {
    private static final int OLDEST = 50;
    private static final String HASH_CODE = "hashCode";

    private final ClassFile files;

    /**
     * For the classes of a program.
     *
     * @param originals the class file of an internal name, or null
     */
    Rewriter(Function<String, byte @Nullable []> originals) {
        ClassHierarchyResolver program = ClassHierarchyResolver
                .ofResourceParsing(type -> renamed(originals, type));
        ClassHierarchyResolver others = ClassHierarchyResolver.ofClassLoading(Rewriter.class.getClassLoader());
        this.files = ClassFile.of(ClassFile.ClassHierarchyResolverOption
                .of(program.orElse(others).orElse(_ -> ClassHierarchyInfo.ofClass(CD_Object)).cached()));
    }

    private static @Nullable InputStream renamed(Function<String, byte @Nullable []> originals, ClassDesc type) {
        if (!type.isClassOrInterface()) {
            return null;
        }
        String descriptor = type.descriptorString();
        byte[] bytes = originals.apply(descriptor.substring(1, descriptor.length() - 1));
        return bytes == null ? null : new ByteArrayInputStream(TypeRenamer.rename(bytes, Rules.renamed()));
    }

    /**
     * The class file as the simulation wants it.
     *
     * @throws IllegalArgumentException if it is older than Java 6
     */
    byte[] rewrite(byte[] original) {
        ClassModel model = files.parse(TypeRenamer.rename(original, Rules.renamed()));
        if (model.majorVersion() < OLDEST) {
            throw new IllegalArgumentException(model.thisClass().asInternalName()
                    + " was compiled for a Java before 6; compile it anew");
        }
        return files.transformClass(model, new Whole(model));
    }

    private static final class Whole implements ClassTransform {
        private final String name;
        private final @Nullable String superName;
        private final boolean needsHash;

        Whole(ClassModel model) {
            this.name = model.thisClass().asInternalName();
            this.superName = model.superclass().map(type -> type.asInternalName()).orElse(null);
            this.needsHash = "java/lang/Object".equals(superName) && !model.flags().has(AccessFlag.INTERFACE)
                    && model.methods().stream().noneMatch(method -> method.methodName().equalsString(HASH_CODE)
                            && method.methodType().equalsString("()I"));
        }

        @Override
        public void accept(ClassBuilder to, ClassElement element) {
            if (element instanceof MethodModel method && method.code().isPresent()) {
                to.transformMethod(method, (builder, part) -> method(method, builder, part));
            } else {
                to.with(element);
            }
        }

        private void method(MethodModel method, MethodBuilder to, MethodElement part) {
            boolean locked = method.flags().has(AccessFlag.SYNCHRONIZED);
            if (part instanceof AccessFlags flags && locked) {
                to.withFlags(flags.flagsMask() & ~ClassFile.ACC_SYNCHRONIZED);
            } else if (part instanceof CodeModel code) {
                Set<Label> catchAlls = new HashSet<>();
                code.forEach(element -> BodyRewriter.collect(catchAlls, element));
                int locals = code instanceof CodeAttribute attribute ? attribute.maxLocals() : 0;
                to.transformCode(code, new BodyRewriter(new BodyRewriter.Method(name, superName,
                        method.methodName().stringValue(), method.flags().has(AccessFlag.STATIC), locked, locals,
                        catchAlls)));
            } else {
                to.with(part);
            }
        }

        @Override
        public void atEnd(ClassBuilder to) {
            if (needsHash) {
                to.withMethodBody(HASH_CODE, MethodTypeDesc.of(CD_int), ClassFile.ACC_PUBLIC,
                        code -> code.aload(0).invokestatic(ClassDesc.of(Replacements.class.getName()),
                                "identityHashCode", MethodTypeDesc.of(CD_int, CD_Object)).ireturn());
            }
        }
    }
}
