// TransactWriteItems and TransactGetItems.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { before, beforeEach, test } from "node:test";
import {
  IdempotentParameterMismatchException,
  PutItemCommand,
  TransactGetItemsCommand,
  TransactionCanceledException,
  TransactWriteItemsCommand,
} from "@aws-sdk/client-dynamodb";
import { dynamodb, refusal, table } from "./tables.js";

const TableName = "js-transactions";
before(() => table(TableName));

const account = (name) => ({ pk: { S: name }, sk: { N: "0" } });
beforeEach(async () => {
  for (const name of ["ann", "bob"]) {
    const Item = { ...account(name), balance: { N: "100" } };
    await dynamodb.send(new PutItemCommand({ TableName, Item }));
  }
});

function move(amount, payer, payee) {
  const ExpressionAttributeValues = { ":a": { N: String(amount) } };
  const withdraw = {
    TableName,
    Key: account(payer),
    UpdateExpression: "SET balance = balance - :a",
    ConditionExpression: "balance >= :a",
    ExpressionAttributeValues,
    ReturnValuesOnConditionCheckFailure: "ALL_OLD",
  };
  const deposit = {
    TableName,
    Key: account(payee),
    UpdateExpression: "SET balance = balance + :a",
    ExpressionAttributeValues,
  };
  return [{ Update: withdraw }, { Update: deposit }];
}

const write = (TransactItems, parameters = {}) =>
  dynamodb.send(new TransactWriteItemsCommand({ TransactItems, ...parameters }));

async function balances() {
  const TransactItems = ["ann", "bob"].map((name) => ({ Get: { TableName, Key: account(name) } }));
  const { Responses } = await dynamodb.send(new TransactGetItemsCommand({ TransactItems }));
  return Responses.map(({ Item }) => Number(Item.balance.N));
}

test("all or nothing", async () => {
  await write(move(70, "ann", "bob"));
  assert.deepEqual(await balances(), [30, 170]);
  const check = {
    TableName,
    Key: account("carl"),
    ConditionExpression: "attribute_not_exists(pk)",
  };
  const cancelled = await refusal(
    write([{ ConditionCheck: check }, ...move(70, "ann", "bob")]),
    TransactionCanceledException,
    "specific reasons [None, ConditionalCheckFailed, None]",
  );
  const codes = cancelled.CancellationReasons.map((reason) => reason.Code);
  assert.deepEqual(codes, ["None", "ConditionalCheckFailed", "None"]);
  assert.deepEqual(cancelled.CancellationReasons[1].Item.balance, { N: "30" });
  assert.deepEqual(await balances(), [30, 170]);
});

test("every kind of action", async () => {
  await write([
    { Put: { TableName, Item: account("new") } },
    { Delete: { TableName, Key: account("ann") } },
    {
      ConditionCheck: {
        TableName,
        Key: account("bob"),
        ConditionExpression: "balance = :b",
        ExpressionAttributeValues: { ":b": { N: "100" } },
      },
    },
  ]);
  const TransactItems = ["ann", "new"].map((name) => ({ Get: { TableName, Key: account(name) } }));
  const { Responses } = await dynamodb.send(new TransactGetItemsCommand({ TransactItems }));
  assert.deepEqual(Responses, [{}, { Item: account("new") }]);
});

test("a token makes a repetition harmless", async () => {
  const ClientRequestToken = randomUUID();
  for (let round = 0; round < 3; round++) {
    await write(move(10, "ann", "bob"), { ClientRequestToken });
  }
  assert.deepEqual(await balances(), [90, 110]);
  await refusal(
    write(move(11, "ann", "bob"), { ClientRequestToken }),
    IdempotentParameterMismatchException,
  );
});

test("one action for each item", async () => {
  await refusal(
    write(move(1, "ann", "ann")),
    "ValidationException",
    "cannot include multiple operations on one item",
  );
});

test("money is neither made nor lost", async () => {
  const clerk = async (payer, payee) => {
    for (let round = 0; round < 20; round++) {
      await write(move(7, payer, payee)).catch((error) => {
        // The payer has no money left just now.
        assert.ok(error instanceof TransactionCanceledException);
      });
    }
  };
  const pairs = [["ann", "bob"], ["bob", "ann"], ["ann", "bob"], ["bob", "ann"]];
  await Promise.all(pairs.map((pair) => clerk(...pair)));
  const [ann, bob] = await balances();
  assert.equal(ann + bob, 200);
});
