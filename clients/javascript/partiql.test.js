// PartiQL: statements one by one, in batches and in transactions.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import {
  BatchExecuteStatementCommand,
  DuplicateItemException,
  ExecuteStatementCommand,
  ExecuteTransactionCommand,
  TransactionCanceledException,
} from "@aws-sdk/client-dynamodb";
import { dynamodb, refusal, table } from "./tables.js";

const NAME = "js-partiql";
const TABLE = `"${NAME}"`;
const execute = (Statement, Parameters, options = {}) =>
  dynamodb.send(new ExecuteStatementCommand({ Statement, Parameters, ...options }));

before(async () => {
  await table(NAME);
  for (const sk of [1, 2, 3, 4, 5]) {
    await execute(`INSERT INTO ${TABLE} VALUE {'pk': 'p', 'sk': ?, 'n': 0}`, [{ N: String(sk) }]);
  }
});

test("an item that is there is not inserted again", async () => {
  const insert = execute(`INSERT INTO ${TABLE} VALUE {'pk': 'p', 'sk': 1}`);
  await refusal(insert, DuplicateItemException);
});

test("pages", async () => {
  const found = [];
  let NextToken;
  do {
    const page = await execute(`SELECT sk FROM ${TABLE} WHERE pk IN ['p', 'q']`, undefined, {
      Limit: 2,
      NextToken,
    });
    found.push(...page.Items.map((item) => item.sk.N));
    NextToken = page.NextToken;
  } while (NextToken !== undefined);
  assert.deepEqual(found, ["1", "2", "3", "4", "5"]);
});

test("an update that returns", async () => {
  const { Items } = await execute(
    `UPDATE ${TABLE} SET n = n + 5 WHERE pk = 'p' AND sk = 5 RETURNING MODIFIED NEW *`,
  );
  assert.deepEqual(Items, [{ n: { N: "5" } }]);
});

test("a batch and a transaction", async () => {
  const Statement = `SELECT n FROM ${TABLE} WHERE pk = 'p' AND sk = ?`;
  const read = (sk) => ({ Statement, Parameters: [{ N: String(sk) }] });
  const batch = new BatchExecuteStatementCommand({ Statements: [read(1), read(99)] });
  const { Responses } = await dynamodb.send(batch);
  assert.deepEqual(Responses[0].Item, { n: { N: "0" } });
  assert.equal(Responses[1].Item, undefined);
  const canceled = dynamodb.send(
    new ExecuteTransactionCommand({
      TransactStatements: [
        { Statement: `UPDATE ${TABLE} SET n = 1 WHERE pk = 'p' AND sk = 1` },
        { Statement: `INSERT INTO ${TABLE} VALUE {'pk': 'p', 'sk': 2}` },
      ],
    }),
  );
  const error = await refusal(canceled, TransactionCanceledException);
  assert.deepEqual(
    error.CancellationReasons.map((reason) => reason.Code),
    ["None", "DuplicateItem"],
  );
});
