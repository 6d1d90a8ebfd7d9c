package serve

import (
	"net/http"
	"strings"
	"time"

	"mylm/providers"
)

func (h *Handler) model(x *exchange) {
	list, err := h.list(x.r.Context())
	if err != nil {
		x.fail(x.asAPI(err, ""))
		return
	}
	id := x.r.PathValue("id")
	for _, m := range list {
		if m.Name == id || m.Name == strings.TrimSuffix(id, ":latest") {
			x.json(http.StatusOK, modelEntry(m))
			return
		}
	}
	x.fail(refuse(http.StatusNotFound, "model_not_found", "the model %q does not exist", id))
}

func modelEntry(m providers.ModelInfo) map[string]any {
	when := m.Modified
	if when.IsZero() {
		when = time.Unix(0, 0).UTC()
	}
	return map[string]any{
		"id": m.Name, "object": "model", "created": when.Unix(), "owned_by": "mylm",
		"type": "model", "display_name": m.Name, "created_at": when.UTC().Format(time.RFC3339),
	}
}
