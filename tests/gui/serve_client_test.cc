// SPDX-License-Identifier: Apache-2.0
#include "gui/session/serve_client.h"

#include <gmock/gmock.h>

#include <QFile>
#include <QSignalSpy>
#include <QTest>

#include "tests/traces/example_report.h"

namespace superstep::gui {
namespace {

class ServeClientTest : public ::testing::Test {
 protected:
  void play(const char* mode) { client_.setProgram("bash", {FAKE_SERVE, mode, log_}); }
  static QJsonObject request(int number) { return {{"command", "estimate"}, {"number", number}}; }
  QByteArray log() const {
    QFile file(log_);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
  }
  static QString message(const QSignalSpy& spy) { return spy.isEmpty() ? "" : spy.last()[0].toString(); }

  TemporaryFolder folder_;
  QString log_ = QString::fromStdString((folder_.path / "log").string());
  ServeClient client_;
  QSignalSpy answered_{&client_, &ServeClient::answered}, refused_{&client_, &ServeClient::refused};
  QSignalSpy failed_{&client_, &ServeClient::failed}, progressed_{&client_, &ServeClient::progressed};
};

TEST_F(ServeClientTest, AnAnswerComesWithItsTime) {
  play("answer");
  client_.ask(request(1));
  EXPECT_TRUE(client_.isWaiting());
  ASSERT_TRUE(answered_.wait(5000));
  EXPECT_FALSE(client_.isWaiting());
  EXPECT_EQ(answered_[0][0].toJsonObject()["best"].toObject()["samples_per_second"].toDouble(), 800.5);
  EXPECT_GT(answered_[0][1].toDouble(), 0);
  EXPECT_EQ(progressed_.size(), 1);
  client_.ask(request(2));
  ASSERT_TRUE(answered_.wait(5000)) << "the same child answers again";
  EXPECT_TRUE(log().contains("\"id\":2"));
}

TEST_F(ServeClientTest, RequestsOfOneTurnReplaceEachOther) {
  play("answer");
  for (int i = 0; i < 5; ++i) client_.ask(request(i));
  ASSERT_TRUE(answered_.wait(5000));
  EXPECT_EQ(log().count('\n'), 1);
  EXPECT_TRUE(log().contains("\"number\":4"));
}

TEST_F(ServeClientTest, WhileTheChildIsBusyOnlyTheLastOneWaits) {
  play("slow");
  for (int i = 1; i <= 5; ++i) {
    client_.ask(request(i));
    ASSERT_TRUE(QTest::qWaitFor([&] { return log().contains("\"number\":1"); }, 5000)) << "asked at once";
  }
  EXPECT_TRUE(client_.isWaiting());
  ASSERT_TRUE(answered_.wait(5000));
  EXPECT_FALSE(client_.isWaiting());
  EXPECT_EQ(answered_.size(), 1);
  EXPECT_TRUE(log().contains("\"number\":5"));
  for (const char* between : {"\"number\":2", "\"number\":3", "\"number\":4"}) EXPECT_FALSE(log().contains(between));
  client_.ask(request(6));
  ASSERT_TRUE(answered_.wait(5000)) << "and goes on";
}

TEST_F(ServeClientTest, AHangOfOneThatWasCancelledEndsTheChild) {
  play("hang");
  client_.setHangAfter(300);
  client_.ask(request(1));
  ASSERT_TRUE(QTest::qWaitFor([&] { return log().contains("\"number\":1"); }, 5000));
  client_.ask(request(2));
  ASSERT_TRUE(failed_.wait(5000));
  EXPECT_FALSE(client_.isRunning());
}

TEST_F(ServeClientTest, TheLatestWinsAndTheOlderIsCancelled) {
  play("slow");
  client_.ask(request(1));
  ASSERT_TRUE(QTest::qWaitFor([&] { return log().contains("\"number\":1"); }, 5000));
  client_.ask(request(2));
  ASSERT_TRUE(answered_.wait(5000));
  QTest::qWait(50);
  EXPECT_EQ(answered_.size(), 1) << "that of the older is dropped";
  EXPECT_EQ(answered_[0][0].toJsonObject()["id"].toInt(), 2);
  EXPECT_TRUE(log().contains("{\"command\":\"cancel\",\"id\":1}"));
}

TEST_F(ServeClientTest, WhatIsForgottenIsNotAnswered) {
  play("slow");
  client_.ask(request(1));
  client_.forget();
  EXPECT_FALSE(client_.isWaiting());
  QTest::qWait(100);
  EXPECT_EQ(log(), "");
}

TEST_F(ServeClientTest, ARefusalIsNoFailure) {
  play("refuse");
  client_.ask(request(1));
  ASSERT_TRUE(refused_.wait(5000));
  EXPECT_TRUE(message(refused_).contains("no such degree"));
  EXPECT_TRUE(client_.isRunning());
}

TEST_F(ServeClientTest, ACrashIsSaidAndAfterARestartItGoesOn) {
  play("crash");
  client_.ask(request(1));
  ASSERT_TRUE(failed_.wait(5000));
  EXPECT_TRUE(message(failed_).contains("exit code 7: out of luck")) << message(failed_).toStdString();
  EXPECT_FALSE(client_.isWaiting());
  play("answer");
  client_.restart();
  ASSERT_TRUE(answered_.wait(5000));
  EXPECT_TRUE(log().contains("\"number\":1"));
}

TEST_F(ServeClientTest, GarbageEndsTheChild) {
  play("garbage");
  client_.ask(request(1));
  ASSERT_TRUE(failed_.wait(5000));
  EXPECT_TRUE(message(failed_).contains("Segmentation fault, or so"));
  EXPECT_FALSE(client_.isRunning());
}

TEST_F(ServeClientTest, AHangEndsTheChild) {
  play("hang");
  client_.setHangAfter(300);
  client_.ask(request(1));
  ASSERT_TRUE(failed_.wait(5000));
  EXPECT_TRUE(message(failed_).contains("for 0.3 s"));
  EXPECT_FALSE(client_.isRunning());
}

TEST_F(ServeClientTest, AProgramThatIsNotThereIsSaid) {
  client_.setProgram("/nowhere/superstep", {"serve"});
  client_.ask(request(1));
  ASSERT_TRUE(!failed_.isEmpty() || failed_.wait(5000));
  EXPECT_TRUE(message(failed_).contains("/nowhere/superstep cannot be started"));
}

}  // namespace
}  // namespace superstep::gui
