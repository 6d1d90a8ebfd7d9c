package temporal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	common "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	sdk "go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"
)

// Payloads keep what is too long for a history, under keys that follow from it, such as
// those of the package postgres. Get leaves out what is not there.
type Payloads interface {
	Put(ctx context.Context, all map[string][]byte) error
	Get(ctx context.Context, keys []string) (map[string][]byte, error)
}

// Threshold is from how many bytes on a payload goes to the Storage. With it the history
// of a run grows by 2 KB in each turn, however long the results are.
const Threshold = 512

// Storage returns what the options of each client, that of workers and any other, need to
// keep long payloads outside the histories.
func Storage(p Payloads) converter.ExternalStorage {
	return converter.ExternalStorage{Drivers: []converter.StorageDriver{driver{p}}, PayloadSizeThreshold: Threshold}
}

// driver is such a storage. Its name and its claims are in the histories.
type driver struct{ payloads Payloads }

// Name implements converter.StorageDriver.
func (driver) Name() string { return "mylm" }

// Type implements converter.StorageDriver.
func (driver) Type() string { return "mylm" }

// accessWithin is how long the storage may take. An activity that has no heartbeat yet, or
// none any more, is given up after ten seconds, and so is the task of a workflow.
const accessWithin = 5 * time.Second

// claimed is where a claim has the key.
const claimed = "key"

// Store implements converter.StorageDriver.
func (d driver) Store(ctx converter.StorageDriverStoreContext, payloads []*common.Payload) ([]converter.StorageDriverClaim, error) {
	all, claims := map[string][]byte{}, make([]converter.StorageDriverClaim, len(payloads))
	for i, p := range payloads {
		data, err := proto.MarshalOptions{Deterministic: true}.Marshal(p)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(data)
		key := hex.EncodeToString(sum[:])
		all[key] = data
		claims[i] = converter.StorageDriverClaim{ClaimData: map[string]string{claimed: key}}
	}
	return claims, ctx.GetLimiter().Permit(ctx.Context, payloads[0], func() error {
		limited, cancel := context.WithTimeout(ctx.Context, accessWithin)
		defer cancel()
		return d.payloads.Put(limited, all)
	})
}

// Retrieve implements converter.StorageDriver.
func (d driver) Retrieve(ctx converter.StorageDriverRetrieveContext, claims []converter.StorageDriverClaim) ([]*common.Payload, error) {
	keys := make([]string, len(claims))
	for i, c := range claims {
		keys[i] = c.ClaimData[claimed]
	}
	var all map[string][]byte
	if err := ctx.GetLimiter().Permit(ctx.Context, claims[0], func() (err error) {
		limited, cancel := context.WithTimeout(ctx.Context, accessWithin)
		defer cancel()
		all, err = d.payloads.Get(limited, keys)
		return err
	}); err != nil {
		return nil, sdk.NewApplicationErrorWithCause(err.Error(), unread, err)
	}
	payloads := make([]*common.Payload, len(claims))
	for i, key := range keys {
		data, ok := all[key]
		if !ok {
			return nil, fmt.Errorf("what the history keeps under %.40q is not there any more", key)
		}
		payloads[i] = &common.Payload{}
		if err := proto.Unmarshal(data, payloads[i]); err != nil {
			return nil, err
		}
	}
	return payloads, nil
}
