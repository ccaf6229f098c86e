package tidemark.flink;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import org.apache.beam.model.pipeline.v1.RunnerApi;
import org.apache.beam.runners.flink.FlinkJobInvoker;
import org.apache.beam.runners.flink.FlinkJobServerDriver;
import org.apache.beam.runners.flink.FlinkPipelineOptions;
import org.apache.beam.runners.flink.FlinkPipelineRunner;
import org.apache.beam.runners.fnexecution.provisioning.JobInfo;
import org.apache.beam.runners.jobsubmission.JobInvocation;
import org.apache.beam.sdk.io.FileSystems;
import org.apache.beam.sdk.options.PipelineOptionsFactory;
import org.apache.beam.sdk.util.construction.PipelineOptionsTranslation;
import org.apache.beam.vendor.grpc.v1p69p0.com.google.protobuf.Struct;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.Status;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.StatusRuntimeException;
import org.apache.beam.vendor.guava.v32_1_2_jre.com.google.common.util.concurrent.ListeningExecutorService;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Beam's job server for Flink, with two differences.
 *
 * <p>It sets the options of the runner, by defaults of its own and as the Go program says; see
 * {@link JobOptions}. And it stages no jars: the cluster has them on its class path, where the
 * server of Beam would upload 157 MB with every job.
 *
 * <p>It takes the flags of Beam's server, and {@code --opt name=value} and {@code --parallelism N}
 * for jobs that do not say.
 */
public final class JobServer {
  private static final Logger LOG = LoggerFactory.getLogger(JobServer.class);

  private JobServer() {}

  public static void main(String[] args) {
    Map<String, String> options = new TreeMap<>();
    List<String> rest = new ArrayList<>();
    int parallelism = 1;
    try {
      for (int i = 0; i < args.length; i++) {
        if (args[i].equals("--opt") && i + 1 < args.length) {
          Map.Entry<String, String> option = JobOptions.pair(args[++i]);
          JobOptions.check(option.getKey(), option.getValue());
          options.put(option.getKey(), option.getValue());
        } else if (args[i].equals("--parallelism") && i + 1 < args.length) {
          parallelism = Integer.parseInt(args[++i]);
        } else {
          rest.add(args[i]);
        }
      }
    } catch (IllegalArgumentException e) {
      System.err.println("job server: " + e.getMessage());
      System.exit(2);
    }
    LOG.info("Options of this server: parallelism={} {}", parallelism, options);

    FileSystems.setDefaultPipelineOptions(PipelineOptionsFactory.create());
    FlinkJobServerDriver.FlinkServerConfiguration configuration =
        FlinkJobServerDriver.parseArgs(rest.toArray(new String[0]));
    Server server = new Server(configuration, options, parallelism, rest);
    FlinkJobServerDriver.fromConfig(configuration, () -> server).run();
    // The driver logs why it could not start, and returns.
    System.exit(1);
  }

  /** A job that can be cancelled: Beam's own only stops waiting for it. */
  private static final class Invocation extends JobInvocation {
    private final FlinkJob job;

    Invocation(
        JobInfo info,
        ListeningExecutorService executor,
        RunnerApi.Pipeline pipeline,
        FlinkPipelineRunner runner,
        FlinkJob job) {
      super(info, executor, pipeline, runner);
      this.job = job;
    }

    // Not synchronized: while it waits for the job to come, the state has to be able to change.
    @Override
    public void cancel() {
      try {
        if (!job.cancel(this::goesOn) && goesOn()) {
          throw new IOException("it has not come in " + FlinkJob.ON_ITS_WAY.toSeconds() + " seconds");
        }
      } catch (Exception e) {
        LOG.error("Cancelling {}", getId(), e);
        throw new StatusRuntimeException(
            Status.UNAVAILABLE.withDescription("Flink does not cancel the job: " + e).withCause(e));
      }
      super.cancel();
    }

    private boolean goesOn() {
      return !isTerminated(getState());
    }
  }

  /** Starts the jobs that come in. */
  private static final class Server extends FlinkJobInvoker {
    private final Map<String, String> ofServer;
    private final int parallelism;
    private final String master;
    private final String confDir;

    Server(
        FlinkJobServerDriver.FlinkServerConfiguration configuration,
        Map<String, String> ofServer,
        int parallelism,
        List<String> args) {
      super(configuration);
      this.ofServer = ofServer;
      this.parallelism = parallelism;
      // The driver parses these two and keeps them from other packages.
      this.master = flag(args, "--flink-master", FlinkPipelineOptions.AUTO);
      this.confDir = flag(args, "--flink-conf-dir", null);
    }

    @Override
    protected JobInvocation invokeWithExecutor(
        RunnerApi.Pipeline pipeline,
        Struct sent,
        String retrievalToken,
        ListeningExecutorService executor) {
      FlinkPipelineOptions options =
          PipelineOptionsTranslation.fromProto(sent).as(FlinkPipelineOptions.class);
      try {
        JobOptions.apply(options, ofServer, sent, pipeline);
      } catch (JobOptions.BadOption e) {
        // Any other exception would reach the program as INTERNAL, without its message.
        throw new StatusRuntimeException(
            Status.INVALID_ARGUMENT.withDescription(e.getMessage()));
      }
      options.setFlinkMaster(master);
      if (options.getParallelism() < 1) {
        options.setParallelism(parallelism);
      }
      if (options.getAppName() != null) {
        // The name that the program gave; Beam would add the user, the time and a random number.
        options.setJobName(options.getAppName());
      }
      options.setRunner(null);

      String id = String.format("%s_%s", options.getJobName(), UUID.randomUUID());
      LOG.info("Starting {} with {}", id, options);
      JobInfo info =
          JobInfo.create(
              id,
              options.getJobName(),
              retrievalToken,
              PipelineOptionsTranslation.toProto(options));
      return new Invocation(
          info,
          executor,
          pipeline,
          new FlinkPipelineRunner(options, confDir, List.of()),
          new FlinkJob(master, options.getJobName(), options.getOptionsId()));
    }

    private static String flag(List<String> args, String name, String missing) {
      String value = missing;
      for (int i = 0; i < args.size(); i++) {
        if (args.get(i).startsWith(name + "=")) {
          value = args.get(i).substring(name.length() + 1);
        } else if (args.get(i).equals(name) && i + 1 < args.size()) {
          value = args.get(i + 1);
        }
      }
      return value;
    }
  }
}
