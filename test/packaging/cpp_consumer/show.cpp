// Copyright 2026 The proemlc_ros Authors
// SPDX-License-Identifier: Apache-2.0
// Fills a message, and has its type support looked up as rclcpp would.
#include <iostream>

#include "proemlc_ros/msg/prediction.hpp"
#include "rosidl_typesupport_cpp/message_type_support.hpp"

int main()
{
  proemlc_ros::msg::Prediction prediction;
  prediction.labels.push_back("cup");
  prediction.scores.push_back(0.5f);
  const auto * support =
    rosidl_typesupport_cpp::get_message_type_support_handle<proemlc_ros::msg::Prediction>();
  if (!support) {
    return 1;
  }
  std::cout << rosidl_generator_traits::name<proemlc_ros::msg::Prediction>() << ' ' <<
    prediction.labels.front() << ' ' << prediction.scores.front() << std::endl;
  return 0;
}
