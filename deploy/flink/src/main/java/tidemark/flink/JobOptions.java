package tidemark.flink;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.beam.model.pipeline.v1.RunnerApi;
import org.apache.beam.runners.flink.FlinkPipelineOptions;
import org.apache.beam.vendor.grpc.v1p69p0.com.google.protobuf.Struct;
import org.apache.beam.vendor.grpc.v1p69p0.com.google.protobuf.Value;

/**
 * The options of Beam's Flink runner that a job gets: defaults that depend on whether the pipeline
 * ends, over them those of the server's command line, over them what the Go program set.
 *
 * <p>Go's SDK has no flags for these options, but it sends every flag that was set on the command
 * line, and whatever the program put in {@code beam.PipelineOptions}, as strings in one map. From
 * that map the names in {@link #FLAGS} are read, and {@link #LIST}, a list {@code
 * name=value,name=value} for all other options. The rest of the map belongs to the program. A
 * program that defines none of these flags has {@code --experiments}, as every Beam program: an
 * experiment {@code flink.name=value} is an option, too.
 *
 * <p>Names are those of {@link FlinkPipelineOptions} in snake case: {@code
 * setMaxBundleTimeMills} is {@code max_bundle_time_mills}. A name that is not an option and a value
 * that is not of its type are errors, never ignored.
 */
final class JobOptions {
  /** The options of a Go program that are read by their own name. */
  static final Set<String> FLAGS =
      Set.of(
          "checkpointing_interval",
          "max_bundle_time_mills",
          "savepoint_path",
          "shutdown_sources_after_idle_ms",
          "streaming");

  /** The option of a Go program that holds all others. */
  static final String LIST = "flink_options";

  /** Where Go's SDK puts its map. */
  private static final String GO_OPTIONS = "beam:option:go_options:v1";

  private static final String EXPERIMENTS = "beam:option:experiments:v1";
  private static final String EXPERIMENT = "flink.";
  private static final String TEST_STREAM = "beam:transform:teststream:v1";

  /** What every pipeline needs; the README has the reasons. */
  private static final Map<String, String> ALWAYS =
      Map.of(
          "streaming", "true",
          "finish_bundle_before_checkpointing", "true",
          "max_bundle_time_mills", "100",
          "auto_watermark_interval", "50");

  /** What those need that run until they are stopped. */
  private static final Map<String, String> ENDLESS =
      Map.of(
          "checkpointing_interval", "4000",
          "externalized_checkpoints_enabled", "true",
          "retain_externalized_checkpoints_on_cancellation", "true");

  /**
   * What those need that end: no checkpoints, which fail when there are side inputs, and so no
   * restarts either, which would begin anew; and sources that end, which the runner keeps otherwise.
   */
  private static final Map<String, String> ENDING =
      Map.of(
          "checkpointing_interval", "-1",
          "number_of_execution_retries", "0",
          "shutdown_sources_after_idle_ms", "0");

  /** What is not for a job to say: the server or a flag of Go's SDK does. */
  private static final Map<String, String> ELSEWHERE =
      Map.of(
          "flink_master", "the server says where the cluster is",
          "flink_conf_dir", "the server has one",
          "attached_mode", "the server waits for its jobs",
          "parallelism", "use the flag --parallelism");

  /** The setters of all options, by the snake case of their names. */
  private static final Map<String, Method> SETTERS = setters();

  private JobOptions() {}

  /** Thrown for options that cannot be used; the message is for the user. */
  static final class BadOption extends IllegalArgumentException {
    BadOption(String message) {
      super(message);
    }
  }

  /**
   * Sets in {@code options} the defaults and what the Go program sent.
   *
   * @param server the options of the server's command line
   * @param sent the pipeline options as they came with the job
   */
  static void apply(
      FlinkPipelineOptions options,
      Map<String, String> server,
      Struct sent,
      RunnerApi.Pipeline pipeline) {
    Map<String, String> all = new TreeMap<>(ALWAYS);
    all.putAll(endless(pipeline) ? ENDLESS : ENDING);
    all.putAll(server);
    all.putAll(ofProgram(sent));
    all.forEach((name, value) -> set(options, name, value));
  }

  /** Fails unless {@code name} is an option and {@code value} one of its values. */
  static void check(String name, String value) {
    parse(name, setter(name), value);
  }

  /** Splits {@code name=value}. */
  static Map.Entry<String, String> pair(String text) {
    int at = text.indexOf('=');
    if (at <= 0) {
      throw new BadOption(String.format("\"%s\", want name=value", text));
    }
    return Map.entry(text.substring(0, at).strip(), text.substring(at + 1).strip());
  }

  /** The options that the Go program set. */
  private static Map<String, String> ofProgram(Struct sent) {
    Map<String, Value> fields =
        sent.getFieldsOrDefault(GO_OPTIONS, Value.getDefaultInstance())
            .getStructValue()
            .getFieldsOrDefault("options", Value.getDefaultInstance())
            .getStructValue()
            .getFieldsMap();
    Map<String, String> options = new TreeMap<>();
    for (String name : FLAGS) {
      String value = fields.getOrDefault(name, Value.getDefaultInstance()).getStringValue();
      if (!value.isEmpty()) {
        check(name, value);
        options.put(name, value);
      }
    }
    String list = fields.getOrDefault(LIST, Value.getDefaultInstance()).getStringValue();
    for (String item : list.split(",")) {
      if (!item.isBlank()) {
        add(options, LIST, item);
      }
    }
    sent.getFieldsOrDefault(EXPERIMENTS, Value.getDefaultInstance())
        .getListValue()
        .getValuesList()
        .stream()
        .map(Value::getStringValue)
        .filter(e -> e.startsWith(EXPERIMENT))
        .forEach(e -> add(options, "experiment " + e, e.substring(EXPERIMENT.length())));
    return options;
  }

  private static void add(Map<String, String> options, String from, String item) {
    try {
      Map.Entry<String, String> option = pair(item);
      check(option.getKey(), option.getValue());
      if (options.putIfAbsent(option.getKey(), option.getValue()) != null) {
        throw new BadOption(option.getKey() + " is given twice");
      }
    } catch (BadOption e) {
      throw new BadOption(from + ": " + e.getMessage());
    }
  }

  /**
   * Tells whether a pipeline runs until it is stopped: it has an unbounded collection, and that
   * does not come from a TestStream, which has an end.
   */
  private static boolean endless(RunnerApi.Pipeline pipeline) {
    RunnerApi.Components components = pipeline.getComponents();
    return components.getPcollectionsMap().values().stream()
            .anyMatch(c -> c.getIsBounded() == RunnerApi.IsBounded.Enum.UNBOUNDED)
        && components.getTransformsMap().values().stream()
            .noneMatch(t -> t.getSpec().getUrn().equals(TEST_STREAM));
  }

  private static void set(FlinkPipelineOptions options, String name, String value) {
    Method setter = setter(name);
    try {
      setter.invoke(options, parse(name, setter, value));
    } catch (IllegalAccessException | InvocationTargetException e) {
      throw new IllegalStateException("setting " + name, e);
    }
  }

  private static Method setter(String name) {
    if (ELSEWHERE.containsKey(name)) {
      throw new BadOption(name + " is not for a job to set: " + ELSEWHERE.get(name));
    }
    Method setter = SETTERS.get(name);
    if (setter == null) {
      throw new BadOption(
          String.format(
              "no Flink option has the name \"%s\"; there are %s",
              name, String.join(", ", names())));
    }
    return setter;
  }

  private static List<String> names() {
    List<String> names = new ArrayList<>(SETTERS.keySet());
    names.removeAll(ELSEWHERE.keySet());
    return names;
  }

  private static Object parse(String name, Method setter, String value) {
    Class<?> type = setter.getParameterTypes()[0];
    try {
      if (type == Long.class || type == long.class) {
        return Long.valueOf(value);
      }
      if (type == Integer.class || type == int.class) {
        return Integer.valueOf(value);
      }
    } catch (NumberFormatException e) {
      throw new BadOption(String.format("%s = %s, want a whole number", name, value));
    }
    if (type == String.class) {
      return value;
    }
    if (value.equals("true") || value.equals("false")) {
      return Boolean.valueOf(value);
    }
    throw new BadOption(String.format("%s = %s, want true or false", name, value));
  }

  private static Map<String, Method> setters() {
    Set<Class<?>> types =
        Set.of(
            Long.class, long.class, Integer.class, int.class, Boolean.class, boolean.class,
            String.class);
    Map<String, Method> setters = new TreeMap<>();
    for (Method method : FlinkPipelineOptions.class.getMethods()) {
      boolean ofRunner =
          method.getDeclaringClass().getPackage().equals(FlinkPipelineOptions.class.getPackage())
              || method.getName().equals("setStreaming");
      if (ofRunner
          && method.getName().startsWith("set")
          && method.getParameterCount() == 1
          && types.contains(method.getParameterTypes()[0])) {
        setters.put(snake(method.getName().substring("set".length())), method);
      }
    }
    return setters;
  }

  /** {@code FileInputSplitMaxSizeMB} is {@code file_input_split_max_size_mb}. */
  private static String snake(String camel) {
    return camel.replaceAll("(?<=[a-z])(?=[A-Z])", "_").toLowerCase(Locale.ROOT);
  }
}
