/* estimate MODEL.onnx < SAMPLES: the estimate of n, dx, dy (int64), x [n, dx] and y [n, dy]. */
#include <infoatlas/infoatlas.h>
#include <stdio.h>
#include <stdlib.h>

static void check(infoatlas_status status) {
  if (status == INFOATLAS_OK) return;
  fprintf(stderr, "%d: %s\n", (int)status, infoatlas_last_error());
  exit(1);
}

static void take(void *to, size_t size) {
  if (fread(to, 1, size, stdin) != size) exit(2);
}

int main(int count, char **arguments) {
  int64_t sizes[3];
  infoatlas_model *model = NULL;
  infoatlas_estimator *estimator = NULL;
  infoatlas_samples samples = INFOATLAS_INIT(infoatlas_samples);
  infoatlas_estimate found = INFOATLAS_INIT(infoatlas_estimate);
  if (count != 2) return 2;
  take(sizes, sizeof sizes);
  double *x = malloc(8 * (size_t)(sizes[0] * sizes[1]));
  double *y = malloc(8 * (size_t)(sizes[0] * sizes[2]));
  take(x, 8 * (size_t)(sizes[0] * sizes[1]));
  take(y, 8 * (size_t)(sizes[0] * sizes[2]));
  check(infoatlas_model_load(arguments[1], &model));
  check(infoatlas_estimator_new(model, sizes[0], sizes[1], sizes[2], NULL, &estimator));
  infoatlas_model_free(model);
  samples.x = x;
  samples.y = y;
  samples.n = sizes[0];
  check(infoatlas_estimator_run(estimator, &samples, &found));
  printf("%.17g %.17g %.17g\n", found.mi, found.standard_error, found.pointwise[sizes[0] - 1]);
  infoatlas_estimator_free(estimator);
  free(x);
  free(y);
  return 0;
}
