package tidemark.flink;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A job of this server's on the Flink cluster, which knows it by an id that Beam does not tell. */
final class FlinkJob {
  private static final Logger LOG = LoggerFactory.getLogger(FlinkJob.class);
  private static final Set<String> OVER = Set.of("FINISHED", "CANCELED", "FAILED");
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  /** How long a job may be on its way to Flink, and how often it is looked for. */
  static final Duration ON_ITS_WAY = Duration.ofSeconds(30);

  private static final Duration REST = Duration.ofMillis(200);

  /** How much older than here a job may be by the clock of Flink, in case that is set. */
  private static final Duration SLACK = Duration.ofSeconds(1);

  private final String master;
  private final String name;
  private final String optionsId;
  private final long begun = System.nanoTime();
  private final HttpClient http = HttpClient.newBuilder().connectTimeout(PATIENCE).build();
  private final ObjectMapper json = new ObjectMapper();

  FlinkJob(String master, String name, long optionsId) {
    this.master = master;
    this.name = name;
    this.optionsId = Long.toString(optionsId);
  }

  /**
   * Cancels the job. One that Flink does not have yet is waited for, at most {@link #ON_ITS_WAY}:
   * it would come, and run on. A cluster inside this process ends with the thread that waits.
   *
   * @param goesOn whether the job can still come, or be there
   * @return whether Flink has it, and cancels it
   */
  boolean cancel(BooleanSupplier goesOn) throws IOException, InterruptedException {
    if (master.startsWith("[")) {
      return true;
    }
    long start = System.nanoTime();
    while (true) {
      // Asked first: a job that has come and ended in between is over.
      boolean last =
          !goesOn.getAsBoolean() || System.nanoTime() - start >= ON_ITS_WAY.toNanos();
      try {
        if (cancelled()) {
          return true;
        }
      } catch (IOException e) {
        // Flink does not answer questions about a job that it is making ready.
        if (last) {
          throw e;
        }
        LOG.debug("Looking for {}", name, e);
      }
      if (last) {
        return false;
      }
      Thread.sleep(REST.toMillis());
    }
  }

  /** Cancels the job if Flink has it, and says whether it has. */
  private boolean cancelled() throws IOException, InterruptedException {
    for (JsonNode job : get("/jobs/overview").path("jobs")) {
      String id = job.path("jid").asText();
      String state = job.path("state").asText();
      if (!job.path("name").asText().equals(name)
          || OVER.contains(state)
          || !canBeOurs(Duration.ofMillis(job.path("duration").asLong()))
          || !isOurs(id)) {
        continue;
      }
      if (!state.equals("CANCELLING")) {
        LOG.info("Cancelling {} ({})", name, id);
        send(
            request("/jobs/" + id + "?mode=cancel")
                .method("PATCH", HttpRequest.BodyPublishers.noBody())
                .build());
      }
      return true;
    }
    return false;
  }

  /**
   * Tells whether a job that has run for so long can be this one. Options are numbered anew by each
   * server: what is older belongs to another. Flink's clock need not be that of this machine.
   */
  private boolean canBeOurs(Duration age) {
    return age.compareTo(Duration.ofNanos(System.nanoTime() - begun).plus(SLACK)) <= 0;
  }

  private boolean isOurs(String id) throws IOException, InterruptedException {
    JsonNode user = get("/jobs/" + id + "/config").path("execution-config").path("user-config");
    return user.path("optionsId").asText().equals(optionsId);
  }

  private JsonNode get(String path) throws IOException, InterruptedException {
    return json.readTree(send(request(path).GET().build()));
  }

  private HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create("http://" + master + path)).timeout(PATIENCE);
  }

  private String send(HttpRequest request) throws IOException, InterruptedException {
    HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
    if (response.statusCode() / 100 != 2) {
      throw new IOException(
          request.method() + " " + request.uri() + ": " + response.statusCode() + " " + response.body());
    }
    return response.body();
  }
}
