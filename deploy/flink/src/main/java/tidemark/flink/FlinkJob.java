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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A job of this server's on the Flink cluster, which knows it by an id that Beam does not tell. */
final class FlinkJob {
  private static final Logger LOG = LoggerFactory.getLogger(FlinkJob.class);
  private static final Set<String> OVER = Set.of("FINISHED", "CANCELED", "FAILED", "CANCELLING");
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  /** Options are numbered anew by each server: older jobs are those of others. */
  private static final long SERVER_START = System.currentTimeMillis();

  private final String master;
  private final String name;
  private final String optionsId;
  private final HttpClient http = HttpClient.newBuilder().connectTimeout(PATIENCE).build();
  private final ObjectMapper json = new ObjectMapper();

  FlinkJob(String master, String name, long optionsId) {
    this.master = master;
    this.name = name;
    this.optionsId = Long.toString(optionsId);
  }

  /** Cancels the job, if it runs. A cluster inside this process ends with the thread that waits. */
  void cancel() throws IOException, InterruptedException {
    if (master.startsWith("[")) {
      return;
    }
    for (JsonNode job : get("/jobs/overview").path("jobs")) {
      String id = job.path("jid").asText();
      if (job.path("name").asText().equals(name)
          && job.path("start-time").asLong() >= SERVER_START
          && !OVER.contains(job.path("state").asText())
          && isOurs(id)) {
        LOG.info("Cancelling {} ({})", name, id);
        send(
            request("/jobs/" + id + "?mode=cancel")
                .method("PATCH", HttpRequest.BodyPublishers.noBody())
                .build());
        return;
      }
    }
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
