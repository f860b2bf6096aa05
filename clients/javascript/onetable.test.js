// A blog with OneTable: accounts, posts and comments in one table.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { Table } from "dynamodb-onetable";
import { Dynamo } from "dynamodb-onetable/Dynamo";
import { dynamodb } from "./tables.js";

const blog = new Table({
  name: "js-onetable",
  client: new Dynamo({ client: dynamodb }),
  partial: true,
  schema: {
    format: "onetable:1.1.0",
    version: "0.0.1",
    indexes: {
      primary: { hash: "pk", sort: "sk" },
      gs1: { hash: "gs1pk", sort: "gs1sk", project: "all" },
    },
    params: { isoDates: true, timestamps: true },
    models: {
      Account: {
        pk: { type: String, value: "account#${email}" },
        sk: { type: String, value: "account#" },
        email: { type: String, required: true, unique: true },
        name: { type: String, required: true },
        posts: { type: Number, default: 0 },
      },
      Post: {
        pk: { type: String, value: "account#${email}" },
        sk: { type: String, value: "post#${id}" },
        gs1pk: { type: String, value: "tag#${tag}" },
        gs1sk: { type: String, value: "post#${id}" },
        email: { type: String, required: true },
        id: { type: String, required: true },
        tag: { type: String },
        title: { type: String, required: true },
        likes: { type: Number, default: 0 },
        meta: { type: Object, schema: { words: { type: Number }, links: { type: Array } } },
        published: { type: Date },
      },
    },
  },
});
const Account = blog.getModel("Account");
const Post = blog.getModel("Post");
const email = "ann@example.com";

before(async () => {
  await blog.createTable();
  await Account.create({ email, name: "Ann" });
  const batch = {};
  for (let n = 0; n < 9; n++) {
    const tag = n % 2 ? "odd" : "even";
    await Post.create({ email, id: `p${n}`, tag, title: `Post ${n}` }, { batch });
  }
  await blog.batchWrite(batch);
});

test("the table that it made for itself", async () => {
  assert.ok(await blog.exists());
  const { Table } = await blog.describeTable();
  assert.equal(Table.GlobalSecondaryIndexes[0].IndexName, "gs1");
});

test("an account, once", async () => {
  const ann = await Account.get({ email });
  assert.deepEqual([ann.name, ann.posts], ["Ann", 0]);
  assert.ok(ann.created instanceof Date);
  await assert.rejects(Account.create({ email, name: "Ann" }), /unique/);
  assert.equal(await Account.get({ email: "nobody@example.com" }), undefined);
});

test("posts in pages, forwards and back", async () => {
  const ids = [];
  let next;
  do {
    const page = await Post.find({ email }, { limit: 4, next });
    ids.push(...page.map((post) => post.id));
    next = page.next;
  } while (next);
  assert.deepEqual(ids, Array.from({ length: 9 }, (_, n) => `p${n}`));
  const [last] = await Post.find({ email }, { reverse: true, limit: 1 });
  assert.equal(last.id, "p8");
});

test("posts by tag, and a filter", async () => {
  const odd = await Post.find({ tag: "odd" }, { index: "gs1" });
  assert.deepEqual(odd.map((post) => post.id), ["p1", "p3", "p5", "p7"]);
  const some = await Post.find(
    { email },
    { where: "${title} = {Post 4} or ${title} = {Post 5}" },
  );
  assert.deepEqual(some.map((post) => post.id), ["p4", "p5"]);
  assert.equal((await Post.find({ email }, { count: true })).count, 9);
});

test("updates: add, set, remove, nested", async () => {
  const published = new Date("2026-01-02T03:04:05.000Z");
  // Maps are changed in part, so there must be one.
  await Post.update({ email, id: "p0", published }, { set: { meta: { words: 10, links: ["a"] } } });
  const post = await Post.update(
    { email, id: "p0" },
    { add: { likes: 2 }, set: { "meta.words": "${meta.words} + {5}" }, remove: ["tag"] },
  );
  assert.deepEqual([post.likes, post.meta.words, post.tag], [2, 15, undefined]);
  assert.equal(post.published.getTime(), published.getTime());
  await assert.rejects(
    Post.update({ email, id: "p0", title: "x" }, { where: "${likes} > {100}" }),
    /[Cc]onditional/,
  );
});

test("a post and its count, in one transaction", async () => {
  const publish = async (id) => {
    const transaction = {};
    await Post.create({ email, id, tag: "new", title: "New" }, { transaction });
    await Account.update({ email }, { add: { posts: 1 }, transaction });
    await blog.transact("write", transaction);
  };
  await publish("p9");
  assert.equal((await Account.get({ email })).posts, 1);
  await assert.rejects(publish("p9"), /[Tt]ransact/);
  assert.equal((await Account.get({ email })).posts, 1);
});

test("a collection, by kind", async () => {
  const items = await blog.queryItems({ pk: `account#${email}` }, { parse: true, hidden: true });
  const { Account: accounts, Post: posts } = blog.groupByType(items);
  assert.equal(accounts.length, 1);
  assert.ok(posts.length >= 9);
});

test("reads in a batch, and a removal that frees the name", async () => {
  const batch = {};
  await Post.get({ email, id: "p1" }, { batch });
  await Post.get({ email, id: "p2" }, { batch });
  const posts = await blog.batchGet(batch, { parse: true, hidden: false });
  assert.deepEqual(posts.map((post) => post.id).sort(), ["p1", "p2"]);

  const gone = "gone@example.com";
  await Account.create({ email: gone, name: "Gone" });
  await Account.remove({ email: gone });
  await Account.create({ email: gone, name: "Again" });
  assert.equal((await Account.get({ email: gone })).name, "Again");
});

test("a scan, and the end of the table", async () => {
  const posts = await Post.scan({}, { where: "${tag} = {odd}" });
  assert.equal(posts.length, 4);
  await blog.deleteTable("DeleteTableForever");
  assert.equal(await blog.exists(), false);
});
