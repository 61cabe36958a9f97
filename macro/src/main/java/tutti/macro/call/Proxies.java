package tutti.macro.call;

import static java.lang.constant.ConstantDescs.CD_Object;
import static java.lang.constant.ConstantDescs.CD_String;
import static java.lang.constant.ConstantDescs.CD_int;
import static java.lang.constant.ConstantDescs.CD_void;
import static java.lang.constant.ConstantDescs.INIT_NAME;
import static java.lang.constant.ConstantDescs.MTD_void;

import java.lang.classfile.ClassBuilder;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.TypeKind;
import java.lang.classfile.instruction.SwitchCase;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Generates, for one interface, the class whose objects turn calls into {@link Dispatcher} calls, and the class that
 * turns them back into calls of implementations. Hidden classes, made anew for each table: so each component has its own
 * profile in the JIT compiler, and the classes go when the component goes.
 *
 * <p>
 * A read whose result needs no copying becomes, in words:
 *
 * <pre>{@code
 * DirectRead direct = dispatcher.beginRead(operation);
 * if (direct == null)
 *     return (R) dispatcher.call(operation, new Object[] {arguments...});
 * try {
 *     return ((I) direct.implementation()).method(arguments...);
 * } finally {
 *     direct.endRead();
 * }
 * }</pre>
 *
 * Every other call is the second line alone.
 */
final class Proxies {
    private static final ClassDesc DISPATCHER = desc(Dispatcher.class);
    private static final ClassDesc DIRECT = desc(DirectRead.class);
    private static final ClassDesc OPERATION = desc(Operation.class);
    private static final ClassDesc ARGUMENTS = CD_Object.arrayType();
    private static final MethodTypeDesc CONSTRUCTOR = MethodTypeDesc.of(CD_void, DISPATCHER, OPERATION.arrayType());

    private Proxies() {}

    private static ClassDesc desc(Class<?> type) {
        return ClassDesc.ofDescriptor(type.descriptorString());
    }

    /** A constructor (Dispatcher, Operation[]) of objects that implement the table's interface. */
    static MethodHandle proxyConstructor(MethodHandles.Lookup lookup, OperationTable table) {
        MethodHandles.Lookup generated = define(lookup, table.type(), "Calls", (builder, self) -> {
            builder.withInterfaceSymbols(desc(table.type()));
            builder.withField("dispatcher", DISPATCHER, ClassFile.ACC_PRIVATE | ClassFile.ACC_FINAL);
            for (Operation operation : table.operations()) {
                builder.withField(field(operation), OPERATION, ClassFile.ACC_PRIVATE | ClassFile.ACC_FINAL);
            }
            builder.withMethodBody(INIT_NAME, CONSTRUCTOR, ClassFile.ACC_PUBLIC, code -> {
                code.aload(0).invokespecial(CD_Object, INIT_NAME, MTD_void);
                code.aload(0).aload(1).putfield(self, "dispatcher", DISPATCHER);
                for (Operation operation : table.operations()) {
                    code.aload(0).aload(2).loadConstant(operation.index()).aaload().putfield(self, field(operation),
                            OPERATION);
                }
                code.return_();
            });
            for (Operation operation : table.operations()) {
                builder.withMethodBody(operation.method().getName(), type(operation), ClassFile.ACC_PUBLIC,
                        code -> forward(code, self, table.type(), operation));
            }
            if (table.operations().stream().noneMatch(
                    o -> o.method().getName().equals("toString") && o.method().getParameterCount() == 0)) {
                builder.withMethodBody("toString", MethodTypeDesc.of(CD_String), ClassFile.ACC_PUBLIC,
                        code -> code.aload(0).getfield(self, "dispatcher", DISPATCHER)
                                .invokevirtual(CD_Object, "toString", MethodTypeDesc.of(CD_String)).areturn());
            }
        });
        try {
            return generated
                    .findConstructor(generated.lookupClass(),
                            MethodType.methodType(void.class, Dispatcher.class, Operation[].class))
                    .asType(MethodType.methodType(Object.class, Dispatcher.class, Operation[].class));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("the class made for " + table.type() + " has no constructor", e);
        }
    }

    /** An object that calls implementations. */
    static Invoker invoker(MethodHandles.Lookup lookup, OperationTable table) {
        for (Operation operation : table.operations()) {
            MethodType types = MethodType.methodType(operation.method().getReturnType(),
                    operation.method().getParameterTypes());
            requireAccess(lookup, table.type(), types.returnType());
            types.parameterList().forEach(parameter -> requireAccess(lookup, table.type(), parameter));
        }
        MethodHandles.Lookup generated = define(lookup, table.type(), "Invoker", (builder, _) -> {
            builder.withInterfaceSymbols(desc(Invoker.class));
            builder.withMethodBody(INIT_NAME, MTD_void, ClassFile.ACC_PUBLIC,
                    code -> code.aload(0).invokespecial(CD_Object, INIT_NAME, MTD_void).return_());
            builder.withMethodBody("invoke", MethodTypeDesc.of(CD_Object, CD_int, CD_Object, ARGUMENTS),
                    ClassFile.ACC_PUBLIC, code -> invoke(code, table));
        });
        try {
            return (Invoker) generated.findConstructor(generated.lookupClass(), MethodType.methodType(void.class))
                    .invoke();
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException("the class made for " + table.type() + " cannot be used", e);
        }
    }

    private interface Body {
        void build(ClassBuilder builder, ClassDesc self);
    }

    private static MethodHandles.Lookup define(MethodHandles.Lookup lookup, Class<?> type, String suffix, Body body) {
        Class<?> host = lookup.lookupClass();
        ClassLoader loader = host.getClassLoader();
        if (!seen(type, loader)) {
            throw new IllegalArgumentException("the class loader of " + host.getName() + " does not know "
                    + type.getName() + ": pass a lookup of a class that can use both it and "
                    + Dispatcher.class.getName());
        }
        requireAccess(lookup, type, type);
        String name = (host.getPackageName().isEmpty() ? "" : host.getPackageName() + ".") + type.getSimpleName()
                + suffix;
        ClassDesc self = ClassDesc.of(name);
        byte[] bytes = ClassFile
                .of(ClassFile.ClassHierarchyResolverOption.of(ClassHierarchyResolver.ofClassLoading(lookup)))
                .build(self, builder -> {
                    builder.withFlags(ClassFile.ACC_FINAL | ClassFile.ACC_SYNTHETIC | ClassFile.ACC_SUPER);
                    body.build(builder, self);
                });
        try {
            return lookup.defineHiddenClass(bytes, true);
        } catch (IllegalAccessException e) {
            throw new IllegalArgumentException("no class can be made beside " + host.getName(), e);
        }
    }

    /** To a type that the generated class names: the interface, or one of its methods' parameters and results. */
    private static void requireAccess(MethodHandles.Lookup lookup, Class<?> type, Class<?> of) {
        Class<?> element = of;
        while (element.isArray()) {
            element = element.componentType();
        }
        if (element.isPrimitive()) {
            return;
        }
        try {
            lookup.accessClass(element);
        } catch (IllegalAccessException e) {
            throw new IllegalArgumentException(element.getName()
                    + (element == type ? "" : ", which is in a method of " + type.getName() + ",")
                    + " is not accessible to " + lookup.lookupClass().getName()
                    + ": make it public, or pass MethodHandles.lookup() of a class that may use it", e);
        }
    }

    private static boolean seen(Class<?> type, ClassLoader loader) {
        try {
            return Class.forName(type.getName(), false, loader) == type
                    && Class.forName(Dispatcher.class.getName(), false, loader) == Dispatcher.class;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    private static String field(Operation operation) {
        return "operation" + operation.index();
    }

    private static MethodTypeDesc type(Operation operation) {
        return MethodTypeDesc.ofDescriptor(
                MethodType.methodType(operation.method().getReturnType(), operation.method().getParameterTypes())
                        .descriptorString());
    }

    private static void forward(CodeBuilder code, ClassDesc self, Class<?> interfaceType, Operation operation) {
        if (operation.reads() && !operation.detaches()) {
            Label slow = code.newLabel();
            int direct = code.allocateLocal(TypeKind.REFERENCE);
            self(code, self, operation);
            code.invokeinterface(DISPATCHER, "beginRead", MethodTypeDesc.of(DIRECT, OPERATION)).astore(direct);
            code.aload(direct).ifnull(slow);
            TypeKind result = TypeKind.from(operation.method().getReturnType());
            int kept = code.allocateLocal(TypeKind.LONG);
            code.trying(block -> {
                block.aload(direct).invokeinterface(DIRECT, "implementation", MethodTypeDesc.of(CD_Object))
                        .checkcast(desc(interfaceType));
                loadParameters(block, operation, false);
                block.invokeinterface(desc(interfaceType), operation.method().getName(), type(operation));
                if (result != TypeKind.VOID) {
                    block.storeLocal(result, kept);
                }
            }, catches -> catches.catchingAll(block -> {
                int thrown = block.allocateLocal(TypeKind.REFERENCE);
                block.astore(thrown);
                block.aload(direct).invokeinterface(DIRECT, "endRead", MTD_void);
                block.aload(thrown).athrow();
            }));
            code.aload(direct).invokeinterface(DIRECT, "endRead", MTD_void);
            if (result != TypeKind.VOID) {
                code.loadLocal(result, kept);
            }
            code.return_(result);
            code.labelBinding(slow);
        }
        self(code, self, operation);
        code.loadConstant(operation.method().getParameterCount()).anewarray(CD_Object);
        loadParameters(code, operation, true);
        code.invokeinterface(DISPATCHER, "call", MethodTypeDesc.of(CD_Object, OPERATION, ARGUMENTS));
        unbox(code, operation.method().getReturnType());
        code.return_(TypeKind.from(operation.method().getReturnType()));
    }

    private static void self(CodeBuilder code, ClassDesc self, Operation operation) {
        code.aload(0).getfield(self, "dispatcher", DISPATCHER).aload(0).getfield(self, field(operation), OPERATION);
    }

    /** Pushes the parameters, or puts them, boxed, into the array on the stack. */
    private static void loadParameters(CodeBuilder code, Operation operation, boolean boxed) {
        Class<?>[] parameters = operation.method().getParameterTypes();
        for (int i = 0; i < parameters.length; i++) {
            if (boxed) {
                code.dup().loadConstant(i);
            }
            code.loadLocal(TypeKind.from(parameters[i]), code.parameterSlot(i));
            if (boxed) {
                box(code, parameters[i]);
                code.aastore();
            }
        }
    }

    private static void invoke(CodeBuilder code, OperationTable table) {
        Label unknown = code.newLabel();
        List<SwitchCase> cases = new ArrayList<>();
        List<Consumer<CodeBuilder>> bodies = new ArrayList<>();
        ClassDesc type = desc(table.type());
        for (Operation operation : table.operations()) {
            Label label = code.newLabel();
            cases.add(SwitchCase.of(operation.index(), label));
            bodies.add(body -> {
                body.labelBinding(label);
                body.aload(2).checkcast(type);
                Class<?>[] parameters = operation.method().getParameterTypes();
                for (int i = 0; i < parameters.length; i++) {
                    body.aload(3).loadConstant(i).aaload();
                    unbox(body, parameters[i]);
                }
                body.invokeinterface(type, operation.method().getName(), type(operation));
                if (operation.method().getReturnType() == void.class) {
                    body.aconst_null();
                } else {
                    box(body, operation.method().getReturnType());
                }
                body.areturn();
            });
        }
        code.iload(1).tableswitch(0, table.operations().size() - 1, unknown, cases);
        bodies.forEach(body -> body.accept(code));
        code.labelBinding(unknown);
        ClassDesc failure = desc(IndexOutOfBoundsException.class);
        code.new_(failure).dup().iload(1).invokespecial(failure, INIT_NAME, MethodTypeDesc.of(CD_void, CD_int))
                .athrow();
    }

    private static Class<?> boxType(Class<?> primitive) {
        return MethodType.methodType(primitive).wrap().returnType();
    }

    private static void box(CodeBuilder code, Class<?> type) {
        if (type.isPrimitive()) {
            ClassDesc box = desc(boxType(type));
            code.invokestatic(box, "valueOf", MethodTypeDesc.of(box, desc(type)));
        }
    }

    private static void unbox(CodeBuilder code, Class<?> type) {
        if (type == void.class) {
            code.pop();
        } else if (type.isPrimitive()) {
            ClassDesc box = desc(boxType(type));
            code.checkcast(box).invokevirtual(box, type.getName() + "Value", MethodTypeDesc.of(desc(type)));
        } else if (type != Object.class) {
            code.checkcast(desc(type));
        }
    }
}
