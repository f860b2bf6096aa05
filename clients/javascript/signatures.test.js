// Who may come in: signatures and clocks.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { DynamoDBClient, ListTablesCommand } from "@aws-sdk/client-dynamodb";
import { refusal } from "./tables.js";

const list = new ListTablesCommand({ Limit: 1 });

function client(options) {
  const client = new DynamoDBClient({ maxAttempts: 1, ...options });
  after(() => client.destroy());
  return client;
}

test("another secret is refused", async () => {
  const credentials = { accessKeyId: process.env.AWS_ACCESS_KEY_ID, secretAccessKey: "a guess" };
  await refusal(
    client({ credentials }).send(list),
    "InvalidSignatureException",
    "signature we calculated does not match",
  );
});

test("an unknown key is refused", async () => {
  const credentials = { accessKeyId: "AKIDOFNOBODY", secretAccessKey: "a guess" };
  await refusal(client({ credentials }).send(list), "UnrecognizedClientException");
});

test("a clock that is off is refused, and set right by the SDK", async () => {
  const sixteenMinutes = 16 * 60 * 1000;
  for (const [systemClockOffset, message] of [
    [-sixteenMinutes, "Signature expired"],
    [sixteenMinutes, "Signature not yet current"],
  ]) {
    const late = client({ systemClockOffset });
    await refusal(late.send(list), "InvalidSignatureException", message);
    // The SDK has read the time from the refusal.
    const answer = await late.send(list);
    assert.ok(Array.isArray(answer.TableNames));
  }
});
